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

resource "aws_cloudwatch_metric_alarm" "down" {
  alarm_name          = "${var.name}-machine-down"
  alarm_description   = "The machine fails its status checks."
  namespace           = "AWS/EC2"
  metric_name         = "StatusCheckFailed"
  statistic           = "Maximum"
  period              = 60
  evaluation_periods  = 3
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = 1
  # A spot machine that was stopped sends nothing.
  treat_missing_data = var.use_spot ? "notBreaching" : "breaching"
  alarm_actions      = aws_sns_topic.alarms[*].arn
  ok_actions         = aws_sns_topic.alarms[*].arn

  dimensions = { InstanceId = aws_instance.stack.id }
}

resource "aws_cloudwatch_metric_alarm" "credits" {
  count = startswith(var.instance_type, "t") ? 1 : 0

  alarm_name          = "${var.name}-cpu-credits"
  alarm_description   = "The machine is out of CPU credits and runs at its baseline: take a larger one or fewer profiles."
  namespace           = "AWS/EC2"
  metric_name         = "CPUCreditBalance"
  statistic           = "Minimum"
  period              = 300
  evaluation_periods  = 3
  comparison_operator = "LessThanThreshold"
  threshold           = 10
  treat_missing_data  = "notBreaching"
  alarm_actions       = aws_sns_topic.alarms[*].arn
  ok_actions          = aws_sns_topic.alarms[*].arn

  dimensions = { InstanceId = aws_instance.stack.id }
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
