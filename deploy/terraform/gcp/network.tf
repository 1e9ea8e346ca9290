# A network of the machine's own: nothing comes in but what was asked for, nothing goes out but on the ports given.

resource "google_compute_network" "this" {
  name                    = var.name
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "this" {
  name                     = var.name
  network                  = google_compute_network.this.id
  region                   = var.region
  ip_cidr_range            = var.subnet_cidr
  private_ip_google_access = true
}

resource "google_compute_firewall" "ssh" {
  name          = "${var.name}-ssh"
  network       = google_compute_network.this.id
  direction     = "INGRESS"
  source_ranges = var.ssh_cidrs
  target_tags   = [var.name]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

resource "google_compute_firewall" "service" {
  for_each = { for service, cidrs in var.service_cidrs : service => cidrs if length(cidrs) > 0 }

  name          = "${var.name}-${each.key}"
  network       = google_compute_network.this.id
  direction     = "INGRESS"
  source_ranges = each.value
  target_tags   = [var.name]

  allow {
    protocol = "tcp"
    ports    = [tostring(local.service_ports[each.key])]
  }
}

# Packages, images and the repository come from hosts whose addresses change.
resource "google_compute_firewall" "out" {
  name               = "${var.name}-out"
  network            = google_compute_network.this.id
  direction          = "EGRESS"
  priority           = 1000
  destination_ranges = ["0.0.0.0/0"]
  target_tags        = [var.name]

  allow {
    protocol = "tcp"
    ports    = [for port in var.egress_ports : tostring(port)]
  }
}

# Google lets everything out where no rule says otherwise.
resource "google_compute_firewall" "nothing_else_out" {
  name               = "${var.name}-nothing-else-out"
  network            = google_compute_network.this.id
  direction          = "EGRESS"
  priority           = 65000
  destination_ranges = ["0.0.0.0/0"]
  target_tags        = [var.name]

  deny {
    protocol = "all"
  }
}

locals {
  service_ports = {
    agent      = 9400
    hub        = 9410
    grafana    = 3000
    prometheus = 9090
  }
}
