-- Each day of each GPU: how it was used, and how that changes from day to day.
with steps as (
  select
    *,
    {{div(local_ms, 86400000)}} as day_number,
    lead(time_ms) over (partition by device order by time_ms) - time_ms as step_ms
  from samples
),
days as (
  select
    device,
    day_number,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
    count(*) as samples,
    sum(case when step_ms <= {{gap_ms}} then step_ms else 0 end) / 3600000e0 as covered_hours,
    avg(gpu_utilization_ratio) as utilization_mean,
    {{quantile(gpu_utilization_ratio, 0.95)}} as utilization_p95,
    avg(gpu_memory_used_bytes) as memory_mean_bytes,
    max(gpu_memory_used_bytes) as memory_max_bytes,
    avg(gpu_power_watts) as power_mean_watts,
    {{quantile(gpu_power_watts, 0.5)}} as power_median_watts,
    {{quantile(gpu_power_watts, 0.95)}} as power_p95_watts,
    max(gpu_power_watts) as power_max_watts,
    avg(gpu_temperature_celsius_edge) as temperature_mean_celsius,
    {{quantile(gpu_temperature_celsius_edge, 0.95)}} as temperature_p95_celsius,
    max(gpu_temperature_celsius_edge) as temperature_max_celsius,
    max(gpu_temperature_celsius_hotspot) as hotspot_max_celsius
  from steps
  group by device, day_number
),
trends as (
  select
    *,
    power_mean_watts - lag(power_mean_watts) over (partition by device order by day_number) as power_change_watts,
    temperature_mean_celsius
      - lag(temperature_mean_celsius) over (partition by device order by day_number) as temperature_change_celsius,
    var_pop(cast(day_number as double)) over (partition by device) as day_variance,
    covar_pop(power_mean_watts, cast(day_number as double)) over (partition by device) as power_covariance,
    covar_pop(temperature_mean_celsius, cast(day_number as double)) over (partition by device) as temperature_covariance
  from days
)
select
  {{day(day_number)}} as day,
  host,
  gpu,
  substr(device, length(host) + 2) as uuid,
  model,
  samples,
  covered_hours,
  utilization_mean,
  utilization_p95,
  memory_mean_bytes,
  memory_max_bytes,
  power_mean_watts,
  power_median_watts,
  power_p95_watts,
  power_max_watts,
  temperature_mean_celsius,
  temperature_p95_celsius,
  temperature_max_celsius,
  hotspot_max_celsius,
  power_change_watts,
  temperature_change_celsius,
  power_covariance / nullif(day_variance, 0e0) as power_trend_watts_per_day,
  temperature_covariance / nullif(day_variance, 0e0) as temperature_trend_celsius_per_day
from trends
order by host, gpu, device, day
