# The function of this repository: dist/lambda/index.mjs, started by every log that is uploaded. An upload that fails
# three times waits in a queue for a person.

data "archive_file" "bundle" {
  type        = "zip"
  source_file = var.bundle_path == null ? "${path.module}/../../../dist/lambda/index.mjs" : var.bundle_path
  output_path = "${path.module}/.terraform/gpulse-lambda.zip"
}

locals {
  output = "s3://${aws_s3_bucket.data["processed"].id}/${var.output_prefix}?region=${var.region}"

  # A variable that is not given is left out: empty would be a wrong value.
  environment = merge(
    {
      GPULSE_OUTPUT    = local.output
      GPULSE_TIMEZONE  = var.timezone
      GPULSE_MAX_BYTES = tostring(var.max_upload_bytes)
    },
    var.gpu_name == null ? {} : { GPULSE_GPU_NAME = var.gpu_name },
    var.gpu_vendor == null ? {} : { GPULSE_VENDOR = var.gpu_vendor },
    var.host_name == null ? {} : { GPULSE_HOST = var.host_name },
    length(var.thresholds) == 0 ? {} : { GPULSE_STREAM = jsonencode({ thresholds = var.thresholds }) },
  )

  log_endings = [".txt", ".log", ".csv"]
}

resource "aws_cloudwatch_log_group" "function" {
  name              = "/aws/lambda/${var.name}-logs"
  retention_in_days = var.log_retention_days
}

resource "aws_sqs_queue" "failed" {
  name                      = "${var.name}-failed-uploads"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
}

resource "aws_lambda_function" "logs" {
  function_name                  = "${var.name}-logs"
  description                    = "GPU-Z logs uploaded to S3 become Parquet and a summary"
  role                           = aws_iam_role.function.arn
  filename                       = data.archive_file.bundle.output_path
  source_code_hash               = data.archive_file.bundle.output_base64sha256
  handler                        = "index.handler"
  runtime                        = var.runtime
  architectures                  = [var.architecture]
  memory_size                    = var.memory_mb
  timeout                        = var.timeout_seconds
  reserved_concurrent_executions = var.reserved_concurrency

  environment {
    variables = local.environment
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.function.name
  }

  depends_on = [aws_iam_role_policy.function]
}

resource "aws_lambda_function_event_invoke_config" "logs" {
  function_name                = aws_lambda_function.logs.function_name
  maximum_retry_attempts       = 2
  maximum_event_age_in_seconds = 21600

  destination_config {
    on_failure {
      destination = aws_sqs_queue.failed.arn
    }
  }
}

resource "aws_lambda_permission" "uploads" {
  statement_id   = "Uploads"
  action         = "lambda:InvokeFunction"
  function_name  = aws_lambda_function.logs.function_name
  principal      = "s3.amazonaws.com"
  source_arn     = aws_s3_bucket.data["raw"].arn
  source_account = data.aws_caller_identity.current.account_id
}

resource "aws_s3_bucket_notification" "uploads" {
  bucket = aws_s3_bucket.data["raw"].id

  dynamic "lambda_function" {
    for_each = local.log_endings

    content {
      lambda_function_arn = aws_lambda_function.logs.arn
      events              = ["s3:ObjectCreated:*"]
      filter_prefix       = var.upload_prefix
      filter_suffix       = lambda_function.value
    }
  }

  depends_on = [aws_lambda_permission.uploads]
}
