output "instance_name" {
  description = "The machine."
  value       = google_compute_instance.stack.name
}

output "public_ip" {
  description = "Its address; another one after a stop."
  value       = google_compute_instance.stack.network_interface[0].access_config[0].nat_ip
}

output "ssh" {
  description = "Logs in through Google's proxy, and brings the hub (9410), Grafana (3000) and Prometheus (9090) to this computer's loopback."
  value       = "gcloud compute ssh ${google_compute_instance.stack.name} --project ${var.project} --zone ${var.zone} --tunnel-through-iap -- -L 9410:127.0.0.1:9410 -L 3000:127.0.0.1:3000 -L 9090:127.0.0.1:9090"
}

output "start_up_log" {
  description = "How far the start-up script is, once logged in."
  value       = "sudo tail -f /var/log/gpulse-start-up.log"
}

output "profiles" {
  description = "The compose profiles that were started."
  value       = var.profiles
}
