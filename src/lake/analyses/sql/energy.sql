-- Energy of each day and GPU: the area under the power readings. Between two readings further apart than the longest gap
-- nothing is known and nothing is counted. A stretch belongs to the day it begins in.
with readings as (
  select
    *,
    {{div(local_ms, 86400000)}} as day_number,
    lead(time_ms) over (partition by device order by time_ms) - time_ms as step_ms,
    lead(gpu_power_watts) over (partition by device order by time_ms) as next_power_watts
  from samples
  where gpu_power_watts is not null
),
stretches as (
  select
    *,
    case when step_ms <= {{gap_ms}} then step_ms / 3600000e0 end as hours,
    case when step_ms <= {{gap_ms}} then step_ms / 3600000e0 * (gpu_power_watts + next_power_watts) / 2e0 end as watt_hours
  from readings
),
counted as (
  select
    device,
    {{div(local_ms, 86400000)}} as day_number,
    gpu_energy_joules_total as joules,
    lag(gpu_energy_joules_total) over (partition by device order by time_ms) as joules_before
  from samples
  where gpu_energy_joules_total is not null
),
counters as (
  -- A counter that fell was reset to 0.
  select device, day_number, sum(case when joules >= joules_before then joules - joules_before when joules < joules_before then joules end) / 3600000e0 as counter_kwh
  from counted
  group by device, day_number
),
days as (
  select
    device,
    day_number,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
    count(*) as samples,
    coalesce(sum(hours), 0e0) as covered_hours,
    sum(watt_hours) / 1000e0 as energy_kwh,
    sum(watt_hours) / nullif(sum(hours), 0e0) as power_mean_watts,
    max(gpu_power_watts) as power_max_watts
  from stretches
  group by device, day_number
)
select
  {{day(days.day_number)}} as day,
  days.host,
  days.gpu,
  substr(days.device, length(days.host) + 2) as uuid,
  days.model,
  days.samples,
  days.covered_hours,
  days.energy_kwh,
  counters.counter_kwh,
  days.power_mean_watts,
  days.power_max_watts,
  days.energy_kwh * {{price_per_kwh}} as cost,
  days.energy_kwh * {{co2_grams_per_kwh}} as co2_grams
from days
left join counters on counters.device = days.device and counters.day_number = days.day_number
order by days.host, days.gpu, days.device, day
