# The machine: Ubuntu's own image, verified boot, login by Google identity, and a start-up script that builds the stack
# from the repository. Google runs the script at every boot, which is how a spot machine comes back.

data "google_compute_image" "ubuntu" {
  family  = "ubuntu-2404-lts-amd64"
  project = "ubuntu-os-cloud"
}

resource "google_compute_instance" "stack" {
  name         = var.name
  machine_type = var.machine_type
  zone         = var.zone
  tags         = [var.name]

  metadata_startup_script = local.start_up

  metadata = {
    enable-oslogin         = "TRUE"
    block-project-ssh-keys = "TRUE"
    serial-port-enable     = "FALSE"
  }

  # Disks are always encrypted; a key of one's own replaces Google's.
  boot_disk {
    kms_key_self_link = var.kms_key_id

    initialize_params {
      image = data.google_compute_image.ubuntu.self_link
      size  = var.disk_gb
      type  = "pd-balanced"
    }
  }

  network_interface {
    subnetwork = google_compute_subnetwork.this.id

    # An address to reach out from; a NAT gateway costs more than the machine.
    access_config {}
  }

  # The scope is the widest there is, and what the account may do is decided by the roles in iam.tf.
  service_account {
    email  = google_service_account.machine.email
    scopes = ["cloud-platform"]
  }

  scheduling {
    preemptible                 = var.use_spot
    provisioning_model          = var.use_spot ? "SPOT" : "STANDARD"
    automatic_restart           = !var.use_spot
    on_host_maintenance         = var.use_spot ? "TERMINATE" : "MIGRATE"
    instance_termination_action = var.use_spot ? "STOP" : null
  }

  shielded_instance_config {
    enable_secure_boot          = true
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  # A newer image must not replace a machine that holds history.
  lifecycle {
    ignore_changes = [boot_disk[0].initialize_params[0].image]
  }

  depends_on = [google_secret_manager_secret_iam_member.settings, google_compute_firewall.out]
}

locals {
  start_up = templatefile("${path.module}/../start-up/stack.sh.tftpl", {
    install_dir    = "/opt/gpulse"
    repository_url = var.repository_url == null ? "" : var.repository_url
    repository_ref = var.repository_ref
    archive_uri    = var.archive_uri == null ? "" : var.archive_uri
    profiles       = join(" ", sort(tolist(var.profiles)))
    swap_mb        = 2048
    open_services  = join(" ", sort([for service, cidrs in var.service_cidrs : service if length(cidrs) > 0]))
    cloud = templatefile("${path.module}/../start-up/gcp.sh.tftpl", {
      project     = var.project
      secret_name = var.env_secret_name
    })
  })
}
