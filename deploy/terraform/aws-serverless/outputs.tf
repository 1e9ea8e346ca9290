output "raw_bucket" {
  description = "Upload GPU-Z logs here."
  value       = aws_s3_bucket.data["raw"].id
}

output "processed_bucket" {
  description = "Tables and summaries are here."
  value       = aws_s3_bucket.data["processed"].id
}

output "output" {
  description = "Address of the lake for gpulse pipe --from and gpulse analyze."
  value       = local.output
}

output "function_name" {
  description = "The function."
  value       = aws_lambda_function.logs.function_name
}

output "log_group" {
  description = "The function's log."
  value       = aws_cloudwatch_log_group.function.name
}

output "failed_queue_url" {
  description = "Events of uploads that failed three times."
  value       = aws_sqs_queue.failed.url
}
