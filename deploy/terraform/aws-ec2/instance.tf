# The machine: Ubuntu's own image, an encrypted disk, and a start-up script that builds the stack from the repository.

# The image's id is public; a secret is never read by Terraform, since what it reads is kept in its state.
data "aws_ssm_parameter" "image" {
  name = "/aws/service/canonical/ubuntu/server/24.04/stable/current/${local.architecture}/hvm/ebs-gp3/ami-id"
}

resource "aws_key_pair" "login" {
  key_name_prefix = "${var.name}-"
  public_key      = var.ssh_public_key
}

resource "aws_instance" "stack" {
  ami                         = nonsensitive(data.aws_ssm_parameter.image.value)
  instance_type               = var.instance_type
  subnet_id                   = aws_subnet.this.id
  vpc_security_group_ids      = [aws_security_group.stack.id]
  associate_public_ip_address = true
  key_name                    = aws_key_pair.login.key_name
  iam_instance_profile        = aws_iam_instance_profile.machine.name
  user_data                   = local.start_up
  user_data_replace_on_change = true
  ebs_optimized               = true

  # One hop: containers cannot ask for the machine's credentials.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = var.disk_gb
    encrypted   = true
    kms_key_id  = var.kms_key_arn
  }

  # AWS's default for t3 is to bill beyond the credits.
  dynamic "credit_specification" {
    for_each = startswith(var.instance_type, "t") ? [true] : []

    content {
      cpu_credits = "standard"
    }
  }

  dynamic "instance_market_options" {
    for_each = var.use_spot ? [true] : []

    content {
      market_type = "spot"

      spot_options {
        spot_instance_type             = "persistent"
        instance_interruption_behavior = "stop"
      }
    }
  }

  tags        = { Name = var.name }
  volume_tags = { Name = var.name }

  # A newer image must not replace a machine that holds history.
  lifecycle {
    ignore_changes = [ami]
  }

  # The script needs both on its first minute.
  depends_on = [aws_route_table_association.this, aws_iam_role_policy.machine]
}

locals {
  architecture = can(regex("^[a-z]+[0-9]+g[a-z]*\\.", var.instance_type)) ? "arm64" : "amd64"

  start_up = templatefile("${path.module}/../start-up/stack.sh.tftpl", {
    install_dir    = "/opt/gpulse"
    repository_url = var.repository_url == null ? "" : var.repository_url
    repository_ref = var.repository_ref
    archive_uri    = var.archive_uri == null ? "" : var.archive_uri
    profiles       = join(" ", sort(tolist(var.profiles)))
    swap_mb        = 2048
    open_services  = join(" ", sort([for service, cidrs in var.service_cidrs : service if length(cidrs) > 0]))
    cloud = templatefile("${path.module}/../start-up/aws.sh.tftpl", {
      region         = var.region
      parameter_name = var.env_parameter_name
    })
  })
}
