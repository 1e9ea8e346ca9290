# A network of the machine's own, with the ports that were asked for and no others.

data "aws_availability_zones" "available" {
  state = "available"
}

resource "aws_vpc" "this" {
  cidr_block           = var.vpc_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

# The group that AWS makes by itself lets everything within it through; taken over here with no rule at all.
resource "aws_default_security_group" "closed" {
  vpc_id = aws_vpc.this.id
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id

  tags = { Name = var.name }
}

resource "aws_subnet" "this" {
  vpc_id                  = aws_vpc.this.id
  cidr_block              = var.vpc_cidr
  availability_zone       = data.aws_availability_zones.available.names[0]
  map_public_ip_on_launch = false

  tags = { Name = var.name }
}

resource "aws_route_table" "this" {
  vpc_id = aws_vpc.this.id

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }

  tags = { Name = var.name }
}

resource "aws_route_table_association" "this" {
  subnet_id      = aws_subnet.this.id
  route_table_id = aws_route_table.this.id
}

resource "aws_security_group" "stack" {
  name_prefix = "${var.name}-"
  description = "gpulse: logging in and the services that were opened"
  vpc_id      = aws_vpc.this.id

  tags = { Name = var.name }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each = toset(var.ssh_cidrs)

  security_group_id = aws_security_group.stack.id
  description       = "SSH"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
}

resource "aws_vpc_security_group_ingress_rule" "service" {
  for_each = local.service_rules

  security_group_id = aws_security_group.stack.id
  description       = each.value.service
  cidr_ipv4         = each.value.cidr
  ip_protocol       = "tcp"
  from_port         = local.service_ports[each.value.service]
  to_port           = local.service_ports[each.value.service]
}

# Packages, images and the repository come from hosts whose addresses change.
resource "aws_vpc_security_group_egress_rule" "out" {
  for_each = toset([for port in var.egress_ports : tostring(port)])

  security_group_id = aws_security_group.stack.id
  description       = "out, port ${each.value}"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = tonumber(each.value)
  to_port           = tonumber(each.value)
}

locals {
  service_ports = {
    agent      = 9400
    hub        = 9410
    grafana    = 3000
    prometheus = 9090
  }

  service_rules = merge([
    for service, cidrs in var.service_cidrs : {
      for cidr in cidrs : "${service}-${cidr}" => { service = service, cidr = cidr }
    }
  ]...)
}
