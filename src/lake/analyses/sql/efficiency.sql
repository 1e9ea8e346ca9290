-- How well a GPU gets rid of its heat: degrees over ambient per watt under steady load, day by day, beside its first days.
-- It rises as dust settles, paste dries or a fan wears, long before a temperature looks alarming.
with readings as (
  select
    device,
    host,
    gpu,
    model,
    {{div(local_ms, 86400000)}} as day_number,
    gpu_temperature_celsius_edge as temperature,
    -- Heat follows power within minutes: the mean of a window, and only where it was under load throughout.
    avg(gpu_power_watts) over settled as power,
    min(gpu_power_watts) over settled as power_least,
    time_ms - min(time_ms) over settled as settled_ms
  from samples
  where gpu_power_watts is not null and gpu_temperature_celsius_edge is not null
  window settled as (partition by device order by time_ms range between {{settle_ms}} preceding and current row)
),
usual as (
  select device, {{quantile(gpu_power_watts, 0.95)}} as power_high
  from samples
  where gpu_power_watts is not null
  group by device
),
days as (
  select
    readings.device,
    readings.day_number,
    max(readings.host) as host,
    max(readings.gpu) as gpu,
    max(readings.model) as model,
    count(*) as samples,
    {{quantile((temperature - {{ambient_celsius}}) / power, 0.5)}} as celsius_per_watt,
    avg(power) as power_mean_watts,
    avg(temperature) as temperature_mean_celsius
  from readings
  join usual on usual.device = readings.device
  -- A little less, so that what lies on the edge is in on every engine.
  where power_least > 0 and power_least >= {{load_share}} * power_high * (1 - 1e-9) and settled_ms >= {{settle_ms}} / 2
  group by readings.device, readings.day_number
),
known as (
  select * from days where samples >= {{fewest_samples}}
),
numbered as (
  select *, day_number - min(day_number) over (partition by device) as age_days
  from known
),
baselines as (
  select device, {{quantile(celsius_per_watt, 0.5)}} as baseline_celsius_per_watt
  from numbered
  where age_days < {{baseline_days}}
  group by device
),
slopes as (
  select
    device,
    covar_pop(celsius_per_watt, cast(day_number as double)) / nullif(var_pop(cast(day_number as double)), 0e0) as slope
  from known
  group by device
),
drifts as (
  select
    numbered.*,
    baseline_celsius_per_watt,
    celsius_per_watt / nullif(baseline_celsius_per_watt, 0e0) - 1 as drift_ratio,
    slope * 30 / nullif(baseline_celsius_per_watt, 0e0) as trend_ratio_per_30_days
  from numbered
  join baselines on baselines.device = numbered.device
  join slopes on slopes.device = numbered.device
)
select
  {{day(day_number)}} as day,
  host,
  gpu,
  substr(device, length(host) + 2) as uuid,
  model,
  samples,
  power_mean_watts,
  temperature_mean_celsius,
  celsius_per_watt,
  baseline_celsius_per_watt,
  drift_ratio,
  trend_ratio_per_30_days,
  case
    when age_days < {{baseline_days}} then 'baseline'
    when drift_ratio >= {{drift}} then 'worse'
    when drift_ratio <= -{{drift}} then 'better'
    else 'steady'
  end as state
from drifts
order by host, gpu, device, day
