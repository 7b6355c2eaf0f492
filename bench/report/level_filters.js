
// The plots of level_filters, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.benchmark !== 'level_filters') return;

  // A hue per store.  The store with one FPP everywhere is grey, like the store without filters in other plots.
  const hues = {
    'uniform': 'none', 'uniform-by-level': 'shifting', 'per-level': 'standard', 'per-level-bytes': 'fuse3',
    'per-level-kinds': 'ribbon', 'per-level-reads': 'fuse4', 'rocksdb': 'blocked',
  };
  const hueOf = (store) => hues[store.name] || 'other';
  const colourOf = (store) => Plots.colour(hueOf(store));

  function wasted(place) {
    const sorts = {absent: 'absent keys', bottom: 'keys in the deepest level'};
    Plots.addLegend(place, data.stores.map(
        (store) => ({label: store.name, colour: colourOf(store), mark: 'bar'})));
    place.classList.add('tall', 'single');
    const values = data.stores.flatMap((store) => Object.keys(sorts).map((sort) => store[sort].per_lookup));
    const range = Plots.logRange(values, 1);
    Plots.addChart(Plots.addPanels(place), 'Wasted reads per lookup', 'wasted reads per lookup; see the table', {
      type: 'bar',
      data: {
        labels: Object.values(sorts),
        datasets: data.stores.map((store) => ({
          label: store.name,
          backgroundColor: colourOf(store),
          data: Object.keys(sorts).map((sort) => store[sort].per_lookup || null),
        })),
      },
      options: {
        datasets: {bar: {categoryPercentage: 0.86, barPercentage: 0.94}},
        scales: {
          x: Plots.categoryAxis(''),
          y: Plots.logAxis('wasted reads of tables (log scale)', {min: range.min / 2, max: range.max * 4}),
        },
      },
      plugins: [Plots.barLabels()],
    });
  }

  // One line per store, from the top level to the deepest one.
  function byLevel(panels, heading, axisTitle, valueOf, axisOf) {
    const stores = data.stores.filter((store) => store.levels.some((level) => valueOf(level) > 0));
    const levels = [...new Set(stores.flatMap((store) => store.levels.map((level) => level.level)))].sort();
    const valuesOf = (store) => levels.map((number) => {
      const level = store.levels.find((each) => each.level === number);
      return level ? valueOf(level) : null;
    });
    Plots.addChart(panels, heading, `${heading}; see the table`, {
      type: 'line',
      data: {
        labels: levels.map((level) => `level ${level}`),
        datasets: stores.map((store) => ({
          label: store.name,
          borderColor: colourOf(store),
          backgroundColor: colourOf(store),
          pointStyle: Plots.markOf(hueOf(store)),
          pointRadius: 4,
          borderWidth: 2,
          data: valuesOf(store),
        })),
      },
      options: {scales: {x: Plots.categoryAxis(''), y: axisOf(axisTitle, stores.flatMap(valuesOf))}},
    });
  }

  function levels(place) {
    Plots.addLegend(place, data.stores.map(
        (store) => ({label: store.name, colour: colourOf(store), mark: 'line'})));
    const panels = Plots.addPanels(place);
    byLevel(panels, 'Target FPP', 'target FPP (log scale)', (level) => level.target_fpp,
        (title, values) => Plots.logAxis(title, Plots.logRange(values)));
    byLevel(panels, 'Memory', 'bits per key', (level) => 8 * level.filter_bytes / level.keys,
        (title) => Plots.axis(title, {beginAtZero: true}));
  }

  // Wasted reads by round, a panel per workload.
  function skew(place) {
    const stores = {forgetful: 'none', learning: 'standard'};
    Plots.addLegend(place, Object.entries(stores).map(
        ([name, hue]) => ({label: name, colour: Plots.colour(hue), mark: 'line'})));
    const panels = Plots.addPanels(place);
    const percent = (round) => Math.round(100 * round.written);
    const all = data.skew.flatMap((workload) => workload.rounds.flatMap((round) => [round.learning, round.forgetful]));
    for (const workload of data.skew) {
      Plots.addLines(panels, workload.name, `${workload.how}; see the table`,
          Object.entries(stores).map(([name, hue]) => Plots.series(name, Plots.colour(hue),
              workload.rounds.map((round) => ({x: percent(round), y: round[name]})), {mark: Plots.markOf(hue)})),
          Plots.axis('% of the keys written', {type: 'linear'}),
          Plots.logAxis('wasted reads per lookup (log scale)', Plots.logRange(all)));
    }
  }

  Plots.start({wasted, levels, skew});
})();
