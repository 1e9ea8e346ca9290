-- The hours of a day, each over all days: when a GPU works, and how warm it is then.
with hours as (
  select
    *,
    {{div(local_ms, 3600000)}} % 24 as hour,
    -- The epoch began on a Thursday; 0 is Monday.
    ({{div(local_ms, 86400000)}} + 3) % 7 as weekday
  from samples
)
select
  host,
  gpu,
  substr(device, length(host) + 2) as uuid,
  model,
  hour,
  samples,
  days,
  utilization_mean,
  utilization_workday_mean,
  utilization_weekend_mean,
  busy_share,
  power_mean_watts,
  power_p95_watts,
  temperature_mean_celsius,
  temperature_p95_celsius,
  temperature_max_celsius
from (
  select
    device,
    hour,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
    count(*) as samples,
    count(distinct {{div(local_ms, 86400000)}}) as days,
    avg(gpu_utilization_ratio) as utilization_mean,
    avg(case when weekday < 5 then gpu_utilization_ratio end) as utilization_workday_mean,
    avg(case when weekday >= 5 then gpu_utilization_ratio end) as utilization_weekend_mean,
    avg(case when gpu_utilization_ratio is null then null when gpu_utilization_ratio >= {{idle_below}} then 1e0 else 0e0 end) as busy_share,
    avg(gpu_power_watts) as power_mean_watts,
    {{quantile(gpu_power_watts, 0.95)}} as power_p95_watts,
    avg(gpu_temperature_celsius_edge) as temperature_mean_celsius,
    {{quantile(gpu_temperature_celsius_edge, 0.95)}} as temperature_p95_celsius,
    max(gpu_temperature_celsius_edge) as temperature_max_celsius
  from hours
  group by device, hour
) by_hour
order by host, gpu, device, hour
