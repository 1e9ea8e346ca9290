output "instance_id" {
  description = "The machine."
  value       = aws_instance.stack.id
}

output "public_ip" {
  description = "Its address; it changes after a stop."
  value       = aws_instance.stack.public_ip
}

output "ssh" {
  description = "Command that logs in and forwards the hub (9410), Grafana (3000) and Prometheus (9090) to your loopback."
  value       = "ssh -L 9410:127.0.0.1:9410 -L 3000:127.0.0.1:3000 -L 9090:127.0.0.1:9090 ubuntu@${aws_instance.stack.public_ip}"
}

output "start_up_log" {
  description = "Command that shows the progress of the start-up script on the machine."
  value       = "sudo tail -f /var/log/gpulse-start-up.log"
}

output "profiles" {
  description = "Started compose profiles."
  value       = var.profiles
}
