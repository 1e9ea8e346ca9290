output "instance_id" {
  description = "The machine."
  value       = aws_instance.stack.id
}

output "public_ip" {
  description = "Its address; another one after a stop."
  value       = aws_instance.stack.public_ip
}

output "ssh" {
  description = "Logs in, and brings the hub (9410), Grafana (3000) and Prometheus (9090) to this computer's loopback."
  value       = "ssh -L 9410:127.0.0.1:9410 -L 3000:127.0.0.1:3000 -L 9090:127.0.0.1:9090 ubuntu@${aws_instance.stack.public_ip}"
}

output "start_up_log" {
  description = "How far the start-up script is, once logged in."
  value       = "sudo tail -f /var/log/gpulse-start-up.log"
}

output "profiles" {
  description = "The compose profiles that were started."
  value       = var.profiles
}
