# What mail is sent about. CloudWatch cannot publish to a topic that AWS's own key encrypts, a key of one's own costs
# a dollar a month, and an alarm holds nothing secret: the topic has none.

resource "aws_sns_topic" "alarms" {
  count = var.alarm_email == null ? 0 : 1

  name_prefix = "${var.name}-"
}

data "aws_iam_policy_document" "alarms" {
  count = var.alarm_email == null ? 0 : 1

  statement {
    sid       = "Alarms"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.alarms[0].arn]

    principals {
      type        = "Service"
      identifiers = ["cloudwatch.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }
  }
}

resource "aws_sns_topic_policy" "alarms" {
  count = var.alarm_email == null ? 0 : 1

  arn    = aws_sns_topic.alarms[0].arn
  policy = data.aws_iam_policy_document.alarms[0].json
}

resource "aws_sns_topic_subscription" "email" {
  count = var.alarm_email == null ? 0 : 1

  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = var.alarm_email
}

locals {
  function_alarms = {
    errors = {
      metric    = "Errors"
      statistic = "Sum"
      threshold = 1
      says      = "An upload failed; it is tried three times in all. The function's log names the object."
    }
    throttles = {
      metric    = "Throttles"
      statistic = "Sum"
      threshold = 1
      says      = "Uploads wait, since the function runs as often as it may at once."
    }
    slow = {
      metric    = "Duration"
      statistic = "Maximum"
      threshold = var.timeout_seconds * 900
      says      = "An upload took nine tenths of the time it may take: raise timeout_seconds, or memory_mb, which brings more CPU."
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "function" {
  for_each = local.function_alarms

  alarm_name          = "${var.name}-function-${each.key}"
  alarm_description   = each.value.says
  namespace           = "AWS/Lambda"
  metric_name         = each.value.metric
  statistic           = each.value.statistic
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
  alarm_actions       = aws_sns_topic.alarms[*].arn
  ok_actions          = aws_sns_topic.alarms[*].arn

  dimensions = { FunctionName = aws_lambda_function.logs.function_name }
}

resource "aws_cloudwatch_metric_alarm" "failed" {
  alarm_name          = "${var.name}-failed-uploads"
  alarm_description   = "Uploads that failed three times wait in the queue."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = aws_sns_topic.alarms[*].arn
  ok_actions          = aws_sns_topic.alarms[*].arn

  dimensions = { QueueName = aws_sqs_queue.failed.name }
}

# The whole account's: costs can be told apart by tag only once the tag is activated for billing.
resource "aws_budgets_budget" "monthly" {
  count = var.alarm_email == null ? 0 : 1

  name         = "${var.name}-monthly"
  budget_type  = "COST"
  limit_amount = tostring(var.monthly_budget_usd)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"

  notification {
    comparison_operator        = "GREATER_THAN"
    threshold                  = 80
    threshold_type             = "PERCENTAGE"
    notification_type          = "ACTUAL"
    subscriber_email_addresses = [var.alarm_email]
  }

  notification {
    comparison_operator        = "GREATER_THAN"
    threshold                  = 100
    threshold_type             = "PERCENTAGE"
    notification_type          = "FORECASTED"
    subscriber_email_addresses = [var.alarm_email]
  }
}
