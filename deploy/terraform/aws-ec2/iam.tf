# Permissions of the machine: read its own settings and, if it comes from a bucket, the archive. Nothing else.

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "machine" {
  statement {
    sid       = "ReadSettings"
    actions   = ["ssm:GetParameter"]
    resources = ["arn:${data.aws_partition.current.partition}:ssm:${var.region}:${data.aws_caller_identity.current.account_id}:parameter${var.env_parameter_name}"]
  }

  dynamic "statement" {
    for_each = var.archive_uri == null ? [] : [trimprefix(var.archive_uri, "s3://")]

    content {
      sid       = "ReadArchive"
      actions   = ["s3:GetObject"]
      resources = ["arn:${data.aws_partition.current.partition}:s3:::${statement.value}"]
    }
  }

  # AWS's own key for parameters needs no permission here.
  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "DecryptSettings"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role" "machine" {
  name_prefix        = "${var.name}-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "machine" {
  name   = "read-settings"
  role   = aws_iam_role.machine.id
  policy = data.aws_iam_policy_document.machine.json
}

resource "aws_iam_instance_profile" "machine" {
  name_prefix = "${var.name}-"
  role        = aws_iam_role.machine.name
}
