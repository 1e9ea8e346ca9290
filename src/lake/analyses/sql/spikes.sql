-- Sudden rises of temperature, each with what came with it. A reading belongs to a spike where it is so much above the
-- lowest of the window before it; readings no further apart than the window are one spike.
with readings as (
  select
    device,
    host,
    gpu,
    model,
    time_ms,
    gpu_temperature_celsius_edge as temperature,
    gpu_power_watts as power,
    gpu_utilization_ratio as load,
    -- The slowest fan: one that stands still among turning ones is the problem.
    least(gpu_fan_rpm_1, gpu_fan_rpm_2, gpu_fan_rpm_3, gpu_fan_rpm_4) as fan_rpm,
    least(gpu_fan_speed_ratio_1, gpu_fan_speed_ratio_2, gpu_fan_speed_ratio_3, gpu_fan_speed_ratio_4) as fan_ratio,
    host_cpu_temperature_celsius_package as cpu
  from samples
  where gpu_temperature_celsius_edge is not null
),
-- Of all readings only the lowest temperature before is needed; what else was before is looked up for spikes alone.
above as (
  select
    *,
    min(temperature) over (
      partition by device order by time_ms range between {{window_ms}} preceding and 1 preceding
    ) as base
  from readings
),
risen as (
  select
    *,
    time_ms - lag(time_ms) over (partition by device order by time_ms) as since_last_ms
  from above
  where temperature - base >= {{rise_celsius}}
),
numbered as (
  select
    *,
    sum(case when since_last_ms <= {{window_ms}} then 0 else 1 end)
      over (partition by device order by time_ms rows between unbounded preceding and current row) as spike
  from risen
),
rises as (
  select
    device,
    spike,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
    min(time_ms) as start_ms,
    max(time_ms) as end_ms,
    min(base) as base_celsius,
    max(temperature) as peak_celsius,
    max(power) as power,
    max(load) as load,
    min(fan_rpm) as fan_rpm,
    min(fan_ratio) as fan_ratio,
    max(cpu) as cpu
  from numbered
  group by device, spike
),
starts as (
  select device, spike, start_ms, {{div(start_ms, {{window_ms}})}} as slot from rises
  union all
  select device, spike, start_ms, {{div(start_ms, {{window_ms}})}} - 1 as slot from rises
),
befores as (
  select
    starts.device,
    starts.spike,
    min(power) as power_before,
    min(load) as load_before,
    max(fan_rpm) as fan_rpm_before,
    max(fan_ratio) as fan_ratio_before,
    min(cpu) as cpu_before
  from starts
  join (select *, {{div(time_ms, {{window_ms}})}} as slot from readings) slotted
    on slotted.device = starts.device
    and slotted.slot = starts.slot
    and slotted.time_ms >= starts.start_ms - {{window_ms}}
    and slotted.time_ms < starts.start_ms
  group by starts.device, starts.spike
),
spikes as (
  select
    rises.device,
    rises.spike,
    host,
    gpu,
    model,
    start_ms,
    end_ms,
    base_celsius,
    peak_celsius,
    power_before as power_before_watts,
    power - power_before as power_rise_watts,
    load - load_before as utilization_rise,
    greatest(1 - fan_rpm / nullif(fan_rpm_before, 0e0), 1 - fan_ratio / nullif(fan_ratio_before, 0e0)) as fan_fall,
    cpu - cpu_before as cpu_rise_celsius
  from rises
  left join befores on befores.device = rises.device and befores.spike = rises.spike
),
slots as (
  select host, device, {{div(time_ms, {{window_ms}})}} as slot, avg(temperature) as temperature
  from readings
  group by host, device, {{div(time_ms, {{window_ms}})}}
),
looks as (
  select device, spike, host, {{div(start_ms, {{window_ms}})}} - 1 as slot, -1 as side from spikes
  union all
  select device, spike, host, {{div(end_ms, {{window_ms}})}} as slot, 1 as side from spikes
),
beside as (
  select looks.device, looks.spike, slots.device as neighbour, sum(side * temperature) as rise_celsius, count(*) as sides
  from looks
  join slots on slots.host = looks.host and slots.slot = looks.slot and slots.device <> looks.device
  group by looks.device, looks.spike, slots.device
),
neighbours as (
  select device, spike, avg(rise_celsius) as rise_celsius
  from beside
  where sides = 2
  group by device, spike
)
select
  {{iso(spikes.start_ms)}} as began,
  {{iso(spikes.end_ms)}} as ended,
  spikes.host,
  spikes.gpu,
  substr(spikes.device, length(spikes.host) + 2) as uuid,
  spikes.model,
  case
    when spikes.fan_fall >= {{fan_fall}} then 'fan'
    when spikes.power_rise_watts >= greatest({{power_rise_watts}}, {{power_rise}} * spikes.power_before_watts) then 'load'
    when spikes.power_rise_watts is null and spikes.utilization_rise >= {{load_rise}} then 'load'
    when greatest(neighbours.rise_celsius, spikes.cpu_rise_celsius) >= {{rise_celsius}} / 3 - 1e-9 then 'ambient'
    else 'unknown'
  end as cause,
  spikes.base_celsius,
  spikes.peak_celsius,
  spikes.peak_celsius - spikes.base_celsius as rise_celsius,
  spikes.power_rise_watts,
  spikes.utilization_rise,
  spikes.fan_fall,
  spikes.cpu_rise_celsius,
  neighbours.rise_celsius as neighbours_rise_celsius
from spikes
left join neighbours on neighbours.device = spikes.device and neighbours.spike = spikes.spike
order by spikes.start_ms, spikes.host, spikes.gpu, spikes.device
