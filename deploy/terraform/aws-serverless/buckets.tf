# Two buckets: what is uploaded, and what the function makes of it. Both encrypted, neither ever public, neither
# reachable without TLS.

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  buckets = {
    raw       = { retention_days = var.raw_retention_days }
    processed = { retention_days = var.processed_retention_days }
  }
}

resource "aws_s3_bucket" "data" {
  for_each = local.buckets

  bucket = "${var.name}-${each.key}-${data.aws_caller_identity.current.account_id}-${var.region}"
}

resource "aws_s3_bucket_public_access_block" "data" {
  for_each = local.buckets

  bucket                  = aws_s3_bucket.data[each.key].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "data" {
  for_each = local.buckets

  bucket = aws_s3_bucket.data[each.key].id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  for_each = local.buckets

  bucket = aws_s3_bucket.data[each.key].id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_versioning" "data" {
  for_each = local.buckets

  bucket = aws_s3_bucket.data[each.key].id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "data" {
  for_each = local.buckets

  bucket = aws_s3_bucket.data[each.key].id

  rule {
    id     = "leftovers"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }

    noncurrent_version_expiration {
      noncurrent_days = 7
    }
  }

  dynamic "rule" {
    for_each = each.value.retention_days == null ? [] : [each.value.retention_days]

    content {
      id     = "retention"
      status = "Enabled"

      filter {}

      expiration {
        days = rule.value
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.data]
}

# A denial may name everybody and everything: it gives nothing.
data "aws_iam_policy_document" "tls_only" {
  for_each = local.buckets

  statement {
    sid       = "TlsOnly"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.data[each.key].arn, "${aws_s3_bucket.data[each.key].arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}

resource "aws_s3_bucket_policy" "data" {
  for_each = local.buckets

  bucket = aws_s3_bucket.data[each.key].id
  policy = data.aws_iam_policy_document.tls_only[each.key].json

  depends_on = [aws_s3_bucket_public_access_block.data]
}
