# Permissions of the machine: read its own settings and, if it comes from a bucket, the archive. Nothing else.

resource "google_service_account" "machine" {
  account_id   = "${var.name}-stack"
  display_name = "gpulse stack"
}

resource "google_secret_manager_secret_iam_member" "settings" {
  secret_id = var.env_secret_name
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.machine.member
}

resource "google_storage_bucket_iam_member" "archive" {
  count = var.archive_uri == null ? 0 : 1

  bucket = local.archive.bucket
  role   = "roles/storage.objectViewer"
  member = google_service_account.machine.member

  condition {
    title      = "only the archive"
    expression = "resource.name == \"projects/_/buckets/${local.archive.bucket}/objects/${local.archive.object}\""
  }
}

locals {
  archive = var.archive_uri == null ? null : regex("^gs://(?P<bucket>[^/]+)/(?P<object>.+)$", var.archive_uri)
}
