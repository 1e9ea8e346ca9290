# Validation of one variable by another came with Terraform 1.9.
terraform {
  required_version = ">= 1.9.0, < 2.0.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 6.50"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
  zone    = var.zone

  # Budgets are an API of the billing account; it asks which project pays for the call.
  billing_project       = var.project
  user_project_override = true

  default_labels = {
    project    = var.name
    managed_by = "terraform"
  }
}
