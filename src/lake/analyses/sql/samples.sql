-- What every analysis reads: one row per GPU and instant, whatever was delivered twice. Where two rows of the same
-- instant differ, the larger value of each column counts: the same on every engine, in whatever order files are read.
-- `device` tells GPUs apart: two hosts may report one uuid. Files in which no row can be a duplicate are not grouped.
select
  concat(host, '/', uuid) as device,
  uuid,
  time_ms,
  {{merged({{local_ms(time_ms)}})}} as local_ms,
  host,
  {{merged(gpu)}} as gpu,
  {{merged(model)}} as model,
{{measures}}
from (
  select
    uuid,
    {{epoch_ms(time)}} as time_ms,
    coalesce(host, '') as host,
    cast(gpu as int) as gpu,
    coalesce(model, '') as model,
{{readings}}
  from {{lake}}
) read_rows
where uuid is not null and time_ms >= {{since_ms}} and time_ms < {{until_ms}} and {{chosen}}
{{by_row}}
