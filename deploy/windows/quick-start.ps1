# Not run on Windows by our tests. Shows a GPU-Z log that is being written, live, until Ctrl+C.
#   .\quick-start.ps1 -Log C:\logs\sensors.txt -GpuName 'GeForce RTX 4090'
param(
  [Parameter(Mandatory = $true)][string]$Log,
  [Parameter(Mandatory = $true)][string]$GpuName
)
$ErrorActionPreference = 'Stop'

$node = Get-Command node -ErrorAction SilentlyContinue
if ($null -eq $node) {
  throw 'Node 20.19 or newer is needed: winget install OpenJS.NodeJS.LTS, then open a new window.'
}
if (-not (Test-Path -LiteralPath $Log)) {
  throw "There is no file $Log. In GPU-Z, tick 'Log to file' on the Sensors page."
}

$repository = Split-Path -Parent (Split-Path -Parent $PSScriptRoot)
$program = Join-Path $repository 'bin\gpulse'
$source = 'gpuz:' + $Log + '?gpu-name=' + $GpuName + '&follow=true'
& node $program up --source $source
