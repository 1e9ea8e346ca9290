# Not run on Windows by our tests. Starts gpulse with the machine, as LOCAL SERVICE, by Windows' own task scheduler.
# In a PowerShell run as administrator:
#   .\install-service.ps1 -Package .\gpulse-0.2.0.tgz
#   .\install-service.ps1 -Uninstall
param(
  [string]$Package = '',
  [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'

$task = 'gpulse'
$programs = Join-Path $env:ProgramFiles 'gpulse'
$data = Join-Path $env:ProgramData 'gpulse'

if ($Uninstall) {
  Stop-ScheduledTask -TaskName $task -ErrorAction SilentlyContinue
  Unregister-ScheduledTask -TaskName $task -Confirm:$false
  Remove-Item -LiteralPath $programs -Recurse -Force
  Write-Output "Removed. The history is still in $data."
  exit 0
}

if ($Package -eq '') {
  throw 'Name the package: npm pack in the repository makes gpulse-0.2.0.tgz.'
}
$node = (Get-Command node).Source

# A folder that only administrators write to: what is there runs without anybody being asked.
New-Item -ItemType Directory -Force -Path $programs | Out-Null
& npm install --prefix $programs --no-audit --no-fund (Resolve-Path -LiteralPath $Package).Path
if ($LASTEXITCODE -ne 0) {
  throw 'npm install failed; its lines above say why.'
}

# S-1-5-19 is LOCAL SERVICE on a Windows of any language.
New-Item -ItemType Directory -Force -Path (Join-Path $data 'data') | Out-Null
New-Item -ItemType Directory -Force -Path (Join-Path $data 'gpu-z') | Out-Null
& icacls $data /inheritance:r /grant '*S-1-5-32-544:(OI)(CI)F' '*S-1-5-18:(OI)(CI)F' '*S-1-5-19:(OI)(CI)RX' | Out-Null
& icacls (Join-Path $data 'data') /grant '*S-1-5-19:(OI)(CI)M' | Out-Null
$config = Join-Path $data 'gpulse.yaml'
if (-not (Test-Path -LiteralPath $config)) {
  Copy-Item -LiteralPath (Join-Path $PSScriptRoot 'gpulse.yaml') -Destination $config
}

$program = Join-Path $programs 'node_modules\gpulse\bin\gpulse'
$arguments = '"' + $program + '" up --no-open --config "' + $config + '"'
$action = New-ScheduledTaskAction -Execute $node -Argument $arguments -WorkingDirectory $data
$trigger = New-ScheduledTaskTrigger -AtStartup
$principal = New-ScheduledTaskPrincipal -UserId 'LOCALSERVICE' -LogonType ServiceAccount
$settings = New-ScheduledTaskSettingsSet -RestartCount 999 -RestartInterval (New-TimeSpan -Minutes 1) -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries
Register-ScheduledTask -TaskName $task -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Force | Out-Null
Start-ScheduledTask -TaskName $task

Write-Output "Edit $config (card and log), then: Stop-ScheduledTask $task; Start-ScheduledTask $task"
Write-Output 'The page is on http://127.0.0.1:9410'
