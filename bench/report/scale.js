
// The plots of scale, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.benchmark !== 'scale') return;

  const largest = data.points[data.points.length - 1].keys;
  const curveOf = (id) => data.curves.find((curve) => curve.id === id);
  const at = (points) => points.map(({keys, value}) => ({x: keys, y: value}));

  // Marks for measured values, and the law as a line, dashed beyond the largest size.
  function seriesOf(curve, label, kind) {
    const ink = Plots.colour(kind);
    const inside = curve.law.filter((point) => point.keys <= largest);
    const beyond = curve.law.filter((point) => point.keys >= largest);
    if (inside.length > 0) beyond.unshift(inside[inside.length - 1]);
    return [
      Plots.series(label, ink, at(curve.measured.filter((point) => point.value !== null)),
          {mark: Plots.markOf(kind), line: false}),
      Plots.series(`${label}, law`, ink, at(inside), {mark: null}),
      Plots.series(`${label}, on paper`, ink, at(beyond), {mark: null, dashed: true}),
    ];
  }

  // lines: [id, label, kind for the colour]
  function panel(panels, heading, axisTitle, lines, isLog) {
    const there = lines.filter(([id]) => curveOf(id));
    if (there.length === 0) return;
    const curves = there.map(([id]) => curveOf(id));
    const values = curves.flatMap((curve) => [...curve.law, ...curve.measured].map((point) => point.value));
    const keys = curves.flatMap((curve) => curve.law.map((point) => point.keys));
    const y = isLog ? Plots.logAxis(`${axisTitle} (log scale)`, Plots.logRange(values)) :
        Plots.axis(axisTitle, {beginAtZero: true, grace: '8%'});
    Plots.addLines(panels, heading, `${heading} by number of keys; see the table`,
        there.flatMap(([id, label, kind]) => seriesOf(curveOf(id), label, kind)),
        Plots.logAxis('keys (log scale)', Plots.logRange(keys, 1.2)), y);
  }

  function legend(place, lines) {
    Plots.addLegend(place, [
      ...lines.filter(([id]) => curveOf(id)).flatMap(([, label, kind]) => [
        {label: `${label}: measured, and the law`, colour: Plots.colour(kind), mark: Plots.markOf(kind)},
      ]),
      {label: 'the law on paper', colour: Plots.softInk(), mark: 'dash'},
    ]);
  }

  function lookups(place) {
    const states = [['all', 'all cached', 'standard'], ['tenth', 'a tenth cached', 'blocked']];
    legend(place, states.map(([state, label, kind]) => [`get_absent_${state}_us`, label, kind]));
    const panels = Plots.addPanels(place);
    for (const sort of ['absent', 'present']) {
      panel(panels, `Get, ${sort} keys`, 'microseconds per lookup',
          states.map(([state, label, kind]) => [`get_${sort}_${state}_us`, label, kind]), false);
    }
  }

  // One curve per panel.
  const single = (...panelsOf) => (place) => {
    legend(place, [[panelsOf[0][2], 'marks and lines', 'standard']]);
    const panels = Plots.addPanels(place);
    for (const [heading, axisTitle, id, isLog] of panelsOf) {
      panel(panels, heading, axisTitle, [[id, heading, 'standard']], isLog);
    }
  };

  function opening(place) {
    const lines = [['open_ms', 'files in the page cache', 'standard'], ['open_cold_ms', 'files not cached', 'blocked']];
    legend(place, lines);
    const panels = Plots.addPanels(place);
    panel(panels, 'Time', 'milliseconds', lines, true);
    panel(panels, 'Read', 'bytes', [['open_bytes', 'read', 'standard']], true);
  }

  function memory(place) {
    const lines = [['filter_bytes', 'filters', 'standard'], ['index_bytes', 'indexes', 'blocked']];
    legend(place, lines);
    const panels = Plots.addPanels(place);
    panel(panels, 'Memory', 'bytes', lines, true);
    panel(panels, 'Filters', 'bits per key', [['filter_bits', 'filters', 'standard']], false);
  }

  Plots.start({
    lookups,
    memory,
    opening,
    reads: single(['Runs', 'runs asked per absent key', 'runs', false],
        ['Wasted reads', 'wasted reads of tables, absent key', 'wasted_reads', false]),
    amplification: single(['Writes', 'bytes written per user byte', 'write_amplification', false],
        ['Space', 'bytes stored per user byte', 'space_amplification', false]),
  });
})();
