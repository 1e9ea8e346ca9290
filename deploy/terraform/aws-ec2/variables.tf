variable "region" {
  description = "AWS region, such as eu-central-1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "The region must be one of AWS's, such as eu-central-1."
  }
}

variable "name" {
  description = "Name and tag of every resource."
  type        = string
  default     = "gpulse"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "The name must be 3 to 32 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "instance_type" {
  description = "Machine type; t3.small (2 GB) is estimated to be enough for the profiles core and prometheus."
  type        = string
  default     = "t3.small"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*\\.[a-z0-9-]+$", var.instance_type))
    error_message = "The instance_type must look like t3.small."
  }

  validation {
    condition     = !can(regex("\\.(nano|micro)$", var.instance_type))
    error_message = "The instance_type needs 2 GB at the least, since the image is built on the machine: t3.small or larger."
  }
}

variable "use_spot" {
  description = "Use a spot machine: cheaper, but AWS can stop it and start it again later with its disk."
  type        = bool
  default     = false
}

variable "vpc_cidr" {
  description = "Address range of the machine's network."
  type        = string
  default     = "10.42.0.0/24"

  validation {
    condition     = can(cidrhost(var.vpc_cidr, 1)) && can(regex("/(1[6-9]|2[0-8])$", var.vpc_cidr))
    error_message = "The vpc_cidr must be an IPv4 range from /16 to /28, such as 10.42.0.0/24."
  }
}

variable "ssh_public_key" {
  description = "Public SSH key for logins, one line as in id_ed25519.pub."
  type        = string

  validation {
    condition     = can(regex("^(ssh-ed25519|ssh-rsa) [A-Za-z0-9+/=]+( .*)?$", var.ssh_public_key))
    error_message = "The ssh_public_key must be one line that begins with ssh-ed25519 or ssh-rsa: the .pub file, never the private key."
  }
}

variable "ssh_cidrs" {
  description = "Address ranges that may log in, such as [\"203.0.113.7/32\"]."
  type        = list(string)

  validation {
    condition     = length(var.ssh_cidrs) > 0 && alltrue([for cidr in var.ssh_cidrs : can(cidrhost(cidr, 0))])
    error_message = "The ssh_cidrs must name at least one range such as 203.0.113.7/32."
  }

  validation {
    condition     = alltrue([for cidr in var.ssh_cidrs : !can(regex("/[0-7]$", cidr))])
    error_message = "The ssh_cidrs may hold no range wider than /8: the whole Internet is not asked to log in."
  }
}

variable "service_cidrs" {
  description = "Address ranges that reach a service without a tunnel, by service: agent (9400), hub (9410), grafana (3000), prometheus (9090). Such a service listens on all addresses; create a token for the hub first."
  type        = map(list(string))
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.service_cidrs), ["agent", "hub", "grafana", "prometheus"])) == 0
    error_message = "The service_cidrs may name agent, hub, grafana and prometheus."
  }

  validation {
    condition     = alltrue([for cidr in flatten(values(var.service_cidrs)) : can(cidrhost(cidr, 0)) && !can(regex("/[0-7]$", cidr))])
    error_message = "The service_cidrs must be ranges such as 198.51.100.0/24, none wider than /8."
  }
}

variable "egress_ports" {
  description = "Outbound TCP ports: 80 and 443 for packages and images, 587 for mail."
  type        = set(number)
  default     = [80, 443, 587]

  validation {
    condition     = alltrue([for port in var.egress_ports : port >= 1 && port <= 65535 && floor(port) == port])
    error_message = "The egress_ports must be port numbers from 1 to 65535."
  }
}

variable "repository_url" {
  description = "HTTPS address of the repository to clone; null if archive_uri is set."
  type        = string
  default     = null

  validation {
    condition     = var.repository_url == null || can(regex("^https://[^@[:space:]'\"$`\\\\]+$", var.repository_url))
    error_message = "The repository_url must be an https:// address without user, password, spaces or quotes: a private repository comes as an archive_uri."
  }
}

variable "repository_ref" {
  description = "Branch, tag or commit to run."
  type        = string
  default     = "main"

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9._/-]*$", var.repository_ref))
    error_message = "The repository_ref must be a branch, tag or commit."
  }
}

variable "archive_uri" {
  description = "A .tar.gz of the repository in a bucket, as s3://BUCKET/KEY, made by git archive; null if repository_url is set."
  type        = string
  default     = null

  validation {
    condition     = var.archive_uri == null || can(regex("^s3://[a-z0-9.-]{3,63}/[A-Za-z0-9._/-]+\\.tar\\.gz$", var.archive_uri))
    error_message = "The archive_uri must look like s3://BUCKET/gpulse.tar.gz."
  }

  validation {
    condition     = (var.archive_uri == null) != (var.repository_url == null)
    error_message = "Give exactly one of repository_url and archive_uri: the image is built from the repository, there is no registry to take it from."
  }
}

variable "env_parameter_name" {
  description = "SSM parameter (SecureString) with the stack's .env file. Terraform knows only its name; the machine fetches it."
  type        = string
  default     = "/gpulse/env"

  validation {
    condition     = can(regex("^/[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", var.env_parameter_name)) && !can(regex("^/(aws|ssm)", lower(var.env_parameter_name)))
    error_message = "The env_parameter_name must be a path such as /gpulse/env, and not begin with /aws or /ssm."
  }
}

variable "kms_key_arn" {
  description = "Your own key for the disk and the parameter; AWS's keys if null."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-f0-9-]+$", var.kms_key_arn))
    error_message = "The kms_key_arn must be the ARN of a key, not of an alias."
  }
}

variable "profiles" {
  description = "Compose profiles to start."
  type        = set(string)
  default     = ["core"]

  validation {
    condition     = contains(var.profiles, "core") && length(setsubtract(var.profiles, ["core", "prometheus", "app", "logs", "tracing", "streaming"])) == 0
    error_message = "The profiles must hold core, and may hold prometheus, app, logs, tracing and streaming."
  }

  validation {
    condition     = length(setsubtract(var.profiles, ["core", "prometheus"])) == 0 || !can(regex("\\.(small|medium)$", var.instance_type))
    error_message = "Beyond core and prometheus the profiles need 8 GB at the least: set instance_type to t3.large or larger."
  }
}

variable "disk_gb" {
  description = "Size of the encrypted root disk; 30 GB is an estimate for images and 30 days of history."
  type        = number
  default     = 30

  validation {
    condition     = var.disk_gb >= 20 && var.disk_gb <= 16384 && floor(var.disk_gb) == var.disk_gb
    error_message = "The disk_gb must be a whole number from 20 to 16384: images and 30 days of history need room."
  }
}

variable "alarm_email" {
  description = "Mail address for alarms and the budget; none if null. AWS asks that address to confirm."
  type        = string
  default     = null

  validation {
    condition     = var.alarm_email == null || can(regex("^[^@[:space:]]+@[^@[:space:]]+\\.[^@[:space:]]+$", var.alarm_email))
    error_message = "The alarm_email must be an address such as ops@example.org."
  }
}

variable "monthly_budget_usd" {
  description = "Monthly budget of the account: mail is sent at 80 % and when the forecast exceeds it."
  type        = number
  default     = 25

  validation {
    condition     = var.monthly_budget_usd > 0
    error_message = "The monthly_budget_usd must be more than 0."
  }
}
