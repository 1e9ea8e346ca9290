# What mail is sent about.

resource "google_monitoring_notification_channel" "email" {
  count = var.alarm_email == null ? 0 : 1

  display_name = "${var.name} alarms"
  type         = "email"

  labels = {
    email_address = var.alarm_email
  }
}

resource "google_monitoring_alert_policy" "down" {
  display_name          = "${var.name}: the machine is down"
  combiner              = "OR"
  notification_channels = google_monitoring_notification_channel.email[*].id

  conditions {
    display_name = "no uptime for five minutes"

    condition_absent {
      filter   = "resource.type = \"gce_instance\" AND metric.type = \"compute.googleapis.com/instance/uptime\" AND resource.labels.instance_id = \"${google_compute_instance.stack.instance_id}\""
      duration = "300s"

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_RATE"
      }
    }
  }

  documentation {
    content = "A spot machine may have been taken back: start it with gcloud compute instances start."
  }
}

resource "google_monitoring_alert_policy" "busy" {
  display_name          = "${var.name}: the machine is busy"
  combiner              = "OR"
  notification_channels = google_monitoring_notification_channel.email[*].id

  conditions {
    display_name = "CPU above 90 % for fifteen minutes"

    condition_threshold {
      filter          = "resource.type = \"gce_instance\" AND metric.type = \"compute.googleapis.com/instance/cpu/utilization\" AND resource.labels.instance_id = \"${google_compute_instance.stack.instance_id}\""
      comparison      = "COMPARISON_GT"
      threshold_value = 0.9
      duration        = "900s"

      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_MEAN"
      }
    }
  }

  documentation {
    content = "Take a larger machine_type or fewer profiles."
  }
}

data "google_project" "current" {
  count = var.billing_account == null ? 0 : 1

  project_id = var.project
}

resource "google_billing_budget" "monthly" {
  count = var.billing_account == null ? 0 : 1

  billing_account = var.billing_account
  display_name    = "${var.name} monthly"

  budget_filter {
    projects = ["projects/${data.google_project.current[0].number}"]
  }

  amount {
    specified_amount {
      currency_code = var.budget_currency
      units         = tostring(var.monthly_budget)
    }
  }

  threshold_rules {
    threshold_percent = 0.8
  }

  threshold_rules {
    threshold_percent = 1.0
    spend_basis       = "FORECASTED_SPEND"
  }

  # Google tells the account's billing administrators by itself.
  dynamic "all_updates_rule" {
    for_each = var.alarm_email == null ? [] : [true]

    content {
      monitoring_notification_channels = google_monitoring_notification_channel.email[*].id
    }
  }
}
