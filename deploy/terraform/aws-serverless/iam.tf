# Permissions of the function: read uploads, write results and its own log, forward failed events.

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "function" {
  statement {
    sid       = "ReadUploads"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.data["raw"].arn}/${var.upload_prefix}*"]
  }

  statement {
    sid       = "ListResults"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.data["processed"].arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["${var.output_prefix}/*"]
    }
  }

  statement {
    sid = "WriteResults"
    # A file of the lake waits under _pending until it is committed.
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["${aws_s3_bucket.data["processed"].arn}/${var.output_prefix}/*"]
  }

  statement {
    sid       = "WriteLog"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.function.arn}:log-stream:*"]
  }

  statement {
    sid       = "HandOnFailures"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.failed.arn]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "UseKey"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role" "function" {
  name_prefix        = "${var.name}-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "function" {
  name   = "process-uploads"
  role   = aws_iam_role.function.id
  policy = data.aws_iam_policy_document.function.json
}
