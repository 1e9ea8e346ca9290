variable "project" {
  description = "Id of the Google Cloud project."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "The project must be a project's id: 6 to 30 lower-case letters, digits and hyphens."
  }
}

variable "region" {
  description = "Region, such as europe-west3."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "The region must be one of Google Cloud's, such as europe-west3."
  }
}

variable "zone" {
  description = "Zone within the region, such as europe-west3-b."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone)) && startswith(var.zone, "${var.region}-")
    error_message = "The zone must lie in the region, such as europe-west3-b in europe-west3."
  }
}

variable "name" {
  description = "Name and label of every resource."
  type        = string
  default     = "gpulse"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,22}[a-z0-9]$", var.name))
    error_message = "The name must be 3 to 24 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "machine_type" {
  description = "Machine type; e2-medium (4 GB) is estimated to be enough for the profiles core and prometheus."
  type        = string
  default     = "e2-medium"

  validation {
    condition     = can(regex("^[a-z][a-z0-9]*-[a-z0-9-]+$", var.machine_type)) && !can(regex("^(t2a|c4a|n4a)-", var.machine_type))
    error_message = "The machine_type must look like e2-medium, and be an x86 one, as the image is."
  }

  validation {
    condition     = !can(regex("-micro$", var.machine_type))
    error_message = "The machine_type needs 2 GB at the least, since the image is built on the machine: e2-small or larger."
  }
}

variable "use_spot" {
  description = "Use a spot (preemptible) machine: cheaper, but Google can stop it; it stays stopped until you start it."
  type        = bool
  default     = false
}

variable "subnet_cidr" {
  description = "Address range of the machine's network."
  type        = string
  default     = "10.42.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnet_cidr, 1)) && can(regex("/(1[6-9]|2[0-9])$", var.subnet_cidr))
    error_message = "The subnet_cidr must be an IPv4 range from /16 to /29, such as 10.42.0.0/24."
  }
}

variable "ssh_cidrs" {
  description = "Address ranges that may log in. The default is Google's Identity-Aware Proxy, which requires a Google login."
  type        = list(string)
  default     = ["35.235.240.0/20"]

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
  description = "A .tar.gz of the repository in a bucket, as gs://BUCKET/KEY, made by git archive; null if repository_url is set."
  type        = string
  default     = null

  validation {
    condition     = var.archive_uri == null || can(regex("^gs://[a-z0-9._-]{3,63}/[A-Za-z0-9._/-]+\\.tar\\.gz$", var.archive_uri))
    error_message = "The archive_uri must look like gs://BUCKET/gpulse.tar.gz."
  }

  validation {
    condition     = (var.archive_uri == null) != (var.repository_url == null)
    error_message = "Give exactly one of repository_url and archive_uri: the image is built from the repository, there is no registry to take it from."
  }
}

variable "env_secret_name" {
  description = "Secret Manager secret with the stack's .env file. Terraform knows only its name; the machine fetches it."
  type        = string
  default     = "gpulse-env"

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,255}$", var.env_secret_name))
    error_message = "The env_secret_name must be the short name of a secret, such as gpulse-env."
  }
}

variable "kms_key_id" {
  description = "Your own key for the disk, as projects/P/locations/L/keyRings/R/cryptoKeys/K; Google's key if null."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_id == null || can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key_id))
    error_message = "The kms_key_id must look like projects/P/locations/L/keyRings/R/cryptoKeys/K."
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
    condition     = length(setsubtract(var.profiles, ["core", "prometheus"])) == 0 || !can(regex("-(small|medium)$", var.machine_type))
    error_message = "Beyond core and prometheus the profiles need 8 GB at the least: set machine_type to e2-standard-2 or larger."
  }
}

variable "disk_gb" {
  description = "Size of the encrypted boot disk."
  type        = number
  default     = 30

  validation {
    condition     = var.disk_gb >= 20 && var.disk_gb <= 65536 && floor(var.disk_gb) == var.disk_gb
    error_message = "The disk_gb must be a whole number from 20 to 65536: images and 30 days of history need room."
  }
}

variable "alarm_email" {
  description = "Mail address for alarms and the budget; none if null."
  type        = string
  default     = null

  validation {
    condition     = var.alarm_email == null || can(regex("^[^@[:space:]]+@[^@[:space:]]+\\.[^@[:space:]]+$", var.alarm_email))
    error_message = "The alarm_email must be an address such as ops@example.org."
  }
}

variable "billing_account" {
  description = "Billing account of the budget, as 012345-6789AB-CDEF01; no budget if null."
  type        = string
  default     = null

  validation {
    condition     = var.billing_account == null || can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", var.billing_account))
    error_message = "The billing_account must look like 012345-6789AB-CDEF01."
  }
}

variable "monthly_budget" {
  description = "Monthly budget of the project in whole units of budget_currency: mail is sent at 80 % and when the forecast exceeds it."
  type        = number
  default     = 40

  validation {
    condition     = var.monthly_budget >= 1 && floor(var.monthly_budget) == var.monthly_budget
    error_message = "The monthly_budget must be a whole number from 1."
  }
}

variable "budget_currency" {
  description = "Currency of the billing account."
  type        = string
  default     = "USD"

  validation {
    condition     = can(regex("^[A-Z]{3}$", var.budget_currency))
    error_message = "The budget_currency must be three capital letters, such as EUR."
  }
}
