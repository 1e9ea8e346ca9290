variable "region" {
  description = "AWS region, such as eu-central-1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "The region must be one of AWS's, such as eu-central-1."
  }
}

variable "name" {
  description = "Name of every resource and prefix of the buckets' names."
  type        = string
  default     = "gpulse"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "The name must be 3 to 32 lower-case letters, digits and hyphens, and begin with a letter."
  }
}

variable "bundle_path" {
  description = "The function's file, made by npm run build; the one of this repository if null."
  type        = string
  default     = null

  validation {
    condition     = var.bundle_path == null || can(regex("index\\.mjs$", var.bundle_path))
    error_message = "The bundle_path must end in index.mjs: the handler is index.handler."
  }
}

variable "runtime" {
  description = "Lambda runtime; the bundle needs Node 20.19 or later."
  type        = string
  default     = "nodejs22.x"

  validation {
    condition     = contains(["nodejs22.x", "nodejs24.x"], var.runtime)
    error_message = "The runtime must be nodejs22.x or nodejs24.x."
  }
}

variable "architecture" {
  description = "arm64 or x86_64; the bundle has no native modules, and arm64 is usually cheaper."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "The architecture must be arm64 or x86_64."
  }
}

variable "memory_mb" {
  description = "The function's memory; a day's log of one row a second took 188 MB on a two-core machine, not on Lambda."
  type        = number
  default     = 256

  validation {
    condition     = var.memory_mb >= 256 && var.memory_mb <= 10240 && floor(var.memory_mb) == var.memory_mb
    error_message = "The memory_mb must be a whole number from 256 to 10240."
  }
}

variable "timeout_seconds" {
  description = "Time limit for one upload."
  type        = number
  default     = 60

  validation {
    condition     = var.timeout_seconds >= 10 && var.timeout_seconds <= 900 && floor(var.timeout_seconds) == var.timeout_seconds
    error_message = "The timeout_seconds must be a whole number from 10 to 900."
  }
}

variable "reserved_concurrency" {
  description = "Maximum number of uploads processed at once; -1 uses the account's limit."
  type        = number
  default     = -1

  validation {
    condition     = var.reserved_concurrency == -1 || (var.reserved_concurrency >= 1 && floor(var.reserved_concurrency) == var.reserved_concurrency)
    error_message = "The reserved_concurrency must be -1 or a whole number from 1: 0 would stop the function."
  }
}

variable "upload_prefix" {
  description = "Prefix of the raw bucket to process; everything if empty."
  type        = string
  default     = ""

  validation {
    condition     = var.upload_prefix == "" || can(regex("^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/$", var.upload_prefix))
    error_message = "The upload_prefix must be empty or end with a slash, such as logs/."
  }
}

variable "output_prefix" {
  description = "Prefix of tables and summaries in the processed bucket."
  type        = string
  default     = "lake"

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", var.output_prefix))
    error_message = "The output_prefix must be a path without slashes at its ends, such as lake."
  }
}

variable "raw_retention_days" {
  description = "Days until uploads are removed."
  type        = number
  default     = 30

  validation {
    condition     = var.raw_retention_days >= 1 && floor(var.raw_retention_days) == var.raw_retention_days
    error_message = "The raw_retention_days must be a whole number from 1."
  }
}

variable "processed_retention_days" {
  description = "Days until tables and summaries are removed; never if null."
  type        = number
  default     = null

  validation {
    condition     = var.processed_retention_days == null || try(var.processed_retention_days >= 1 && floor(var.processed_retention_days) == var.processed_retention_days, false)
    error_message = "The processed_retention_days must be null or a whole number from 1."
  }
}

variable "log_retention_days" {
  description = "Days until the function's log lines are removed."
  type        = number
  default     = 14

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365], var.log_retention_days)
    error_message = "The log_retention_days must be a number CloudWatch knows: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180 or 365."
  }
}

variable "kms_key_arn" {
  description = "Your own key for the buckets; S3's key (AES-256, free) if null."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[a-f0-9-]+$", var.kms_key_arn))
    error_message = "The kms_key_arn must be the ARN of a key, not of an alias."
  }
}

variable "gpu_name" {
  description = "The GPU of the logs, because a log does not name it."
  type        = string
  default     = null

  validation {
    condition     = var.gpu_name == null || try(length(trimspace(var.gpu_name)) > 0, false)
    error_message = "The gpu_name must be null or a name such as GeForce RTX 4090."
  }
}

variable "gpu_vendor" {
  description = "nvidia, amd or intel; derived from the name and the columns if null."
  type        = string
  default     = null

  validation {
    condition     = var.gpu_vendor == null || try(contains(["nvidia", "amd", "intel"], var.gpu_vendor), false)
    error_message = "The gpu_vendor must be nvidia, amd or intel."
  }
}

variable "host_name" {
  description = "The machine of the logs; the raw bucket's name if null."
  type        = string
  default     = null

  validation {
    condition     = var.host_name == null || can(regex("^[A-Za-z0-9._-]+$", var.host_name))
    error_message = "The host_name must be letters, digits, dots and hyphens."
  }
}

variable "timezone" {
  description = "Time zone of the logs' local times, such as Europe/Berlin."
  type        = string
  default     = "UTC"

  validation {
    condition     = can(regex("^([A-Za-z_]+(/[A-Za-z0-9_+-]+)*|[+-][0-9]{2}:[0-9]{2})$", var.timezone))
    error_message = "The timezone must be a name such as Europe/Berlin, or an offset such as +02:00."
  }
}

variable "thresholds" {
  description = "Thresholds for tags, such as { high_power = 250 }; the stream's defaults if empty."
  type        = map(number)
  default     = {}

  validation {
    condition     = alltrue([for tag, limit in var.thresholds : can(regex("^[a-z][a-z0-9_]*$", tag))])
    error_message = "The thresholds must be named as tags are: lower-case letters, digits and underscores."
  }
}

variable "max_upload_bytes" {
  description = "Larger uploads are refused."
  type        = number
  default     = 536870912

  validation {
    condition     = var.max_upload_bytes >= 1 && floor(var.max_upload_bytes) == var.max_upload_bytes
    error_message = "The max_upload_bytes must be a whole number from 1."
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
  default     = 5

  validation {
    condition     = var.monthly_budget_usd > 0
    error_message = "The monthly_budget_usd must be more than 0."
  }
}
