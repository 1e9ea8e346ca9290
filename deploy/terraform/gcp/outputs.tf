output "instance_name" {
  description = "The machine."
  value       = google_compute_instance.stack.name
}

output "public_ip" {
  description = "Its address; it changes after a stop."
  value       = google_compute_instance.stack.network_interface[0].access_config[0].nat_ip
}

output "ssh" {
  description = "Command that logs in through Google's proxy and forwards the hub (9410), Grafana (3000) and Prometheus (9090) to your loopback."
  value       = "gcloud compute ssh ${google_compute_instance.stack.name} --project ${var.project} --zone ${var.zone} --tunnel-through-iap -- -L 9410:127.0.0.1:9410 -L 3000:127.0.0.1:3000 -L 9090:127.0.0.1:9090"
}

output "start_up_log" {
  description = "Command that shows the progress of the start-up script on the machine."
  value       = "sudo tail -f /var/log/gpulse-start-up.log"
}

output "profiles" {
  description = "Started compose profiles."
  value       = var.profiles
}
