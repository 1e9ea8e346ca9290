-- What the analyses of jobs read: one row per job and hour, whatever was copied twice.
select
  job,
  time_ms,
  max({{local_ms(time_ms)}}) as local_ms,
  max(user_name) as user_name,
  max(account) as account,
  max(project) as project,
{{measures}}
from (
  select
    job,
    {{epoch_ms(time)}} as time_ms,
    user_name,
    account,
    project,
{{readings}}
  from {{lake}}
) read_rows
where job is not null and time_ms >= {{since_ms}} and time_ms < {{until_ms}}
group by job, time_ms
