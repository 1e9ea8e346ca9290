/** How the HTML report looks: an instrument's, on screen and on paper. */
export const style = `
:root{color-scheme:light dark;--ink:#1b2330;--soft:#556070;--line:#dde2e8;--paper:#fff;--card:#f6f8fa;--bad:#b42318;--warn:#8a5a00;--good:#0b6b4f;
--c0:#2563eb;--c1:#c2620a;--c2:#0b7a55;--c3:#be185d;--c4:#7c3aed;--c5:#0e7490;--c6:#65730b;--c7:#475569}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2b3442;--paper:#11161d;--card:#182029;--bad:#ff8f85;--warn:#f5b24a;--good:#3ecf9a;
--c0:#6ea8ff;--c1:#f5a04a;--c2:#3ecf9a;--c3:#ff7ab6;--c4:#b794ff;--c5:#4fd1e8;--c6:#c3d14a;--c7:#a3b1c2}}
body{margin:0 auto;padding:2rem 1rem 4rem;max-width:96rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{margin:0 0 .25rem;font-size:1.5rem}h2{margin:2rem 0 .5rem;font-size:1.1rem}.soft{color:var(--soft)}
i{display:inline-block;width:.8rem;height:.25rem;margin-right:.35rem;vertical-align:middle;background:currentColor;border-radius:1px}
ul{margin:0;padding:0;list-style:none}.words li{padding:.15rem 0}.words .headline{font-size:1.15rem;font-weight:600}
.caveats{margin:1rem 0;padding:.5rem .75rem;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.caveats li{padding:.15rem 0}.caveats .refused b{color:var(--bad)}.caveats .warning b{color:var(--warn)}.caveats .note b{color:var(--soft)}
.wrap{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .45rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{max-width:14rem;vertical-align:bottom}.name,.cards td.t>span{overflow-wrap:anywhere}.h{display:none}td>b{font-weight:inherit}.n,.wide td{white-space:nowrap}td.t.real,td.t.undecided,td.t.same,td.t.not-compared{white-space:nowrap}
thead th{background:var(--card);color:var(--soft);font-weight:600}tbody th{font-weight:400}tbody tr:last-child>*{border-bottom:0}
tr.headline>*{font-weight:600}.t{text-align:left}td.real{color:var(--good);font-weight:600}td.undecided,td.same,td.not-compared{color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.75rem}
figure{margin:0;padding:.6rem;border:1px solid var(--line);border-radius:8px;break-inside:avoid}
figcaption{font-weight:600;font-size:13px}svg{width:100%;height:auto;display:block}
.grid{stroke:var(--line)}.tick{fill:var(--soft);font-size:11px}
path{fill:none;stroke:currentColor;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round;opacity:.85}
.bar{width:4.5rem;height:.75rem;stroke:currentColor;fill:currentColor;stroke-width:2}
${Array.from({ length: 8 }, (_, place) => `.c${place}{color:var(--c${place})}`).join("")}
@media screen and (max-width:60rem){.cards{border:0;overflow:visible}.cards table,.cards tbody{display:block}.cards thead{display:none}
.cards tr{display:block;margin:0 0 .6rem;padding:.4rem .6rem;border:1px solid var(--line);border-radius:8px}
.cards tr>*{display:flex;justify-content:space-between;gap:1rem;padding:.1rem 0;border:0;text-align:right}.cards tr>th{font-weight:600}
.cards .h{display:block;flex:1 1 40%;color:var(--soft);font-weight:400;text-align:left;overflow-wrap:anywhere}.cards .picture{display:none}}
@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:11px}table{font-size:9px}.wrap{overflow:visible;border:0}tr{break-inside:avoid}h2{break-after:avoid}}`;
