
// The plots of peers_bench, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.benchmark !== 'peers_bench') return;

  const names = data.stores.map((store) => store.name);
  const kinds = ['standard', 'blocked', 'ribbon', 'fuse3'];  // for their colours
  const colourOf = (name) => Plots.colour(kinds[names.indexOf(name) % kinds.length]);
  const figureOf = (cell, name) => cell.figures.find((figure) => figure.store === name) || null;
  const label = (cell) => (cell.threads > 1 ? `${cell.workload}, ${cell.threads} threads` : cell.workload);
  const placeOf = (cell) => `${cell.size}, ${cell.state}, cache ${cell.cache}`;
  const legend = (place) => Plots.addLegend(
      place, names.map((name) => ({label: name, colour: colourOf(name), mark: 'bar'})));

  // Bars grouped by cell, one per store.
  function bars(panels, heading, axisTitle, cells, valueOf) {
    const rows = cells.filter((cell) => names.some((name) => valueOf(cell, name) > 0));
    if (rows.length === 0) return;
    const range = Plots.logRange(
        rows.flatMap((cell) => names.map((name) => valueOf(cell, name) || 0)), 1);
    Plots.addChart(panels, heading, `${axisTitle}, ${heading}; see the table`, {
      type: 'bar',
      data: {
        labels: rows.map(label),
        datasets: names.map((name) => ({
          label: name,
          backgroundColor: colourOf(name),
          data: rows.map((cell) => valueOf(cell, name) || null),
        })),
      },
      options: {
        datasets: {bar: {categoryPercentage: 0.86, barPercentage: 0.94}},
        scales: {
          x: Plots.categoryAxis(''),
          y: Plots.logAxis(`${axisTitle} (log scale)`, {min: range.min / 2, max: range.max * 4}),
        },
      },
      plugins: [Plots.barLabels()],
    });
  }

  // Openings take so much longer than everything else that they get a plot of their own.
  const isOpening = (cell) => cell.state === 'tables';
  const places = [...new Set(data.cells.filter((cell) => !isOpening(cell)).map(placeOf))];

  function openings(place) {
    legend(place);
    place.classList.add('tall', 'single');
    const panels = Plots.addPanels(place);
    for (const size of new Set(data.cells.filter(isOpening).map((cell) => cell.size))) {
      bars(panels, size, 'microseconds per opening', data.cells.filter((cell) => isOpening(cell) && cell.size === size),
          (cell, store) => figureOf(cell, store)?.us.median);
    }
  }

  function times(place) {
    legend(place);
    place.classList.add('tall', 'single');
    const panels = Plots.addPanels(place);
    for (const name of places) {
      bars(panels, name, 'microseconds per operation', data.cells.filter((cell) => placeOf(cell) === name),
          (cell, store) => figureOf(cell, store)?.us.median);
    }
  }

  function reads(place) {
    legend(place);
    place.classList.add('tall', 'single');
    const panels = Plots.addPanels(place);
    for (const name of places) {
      bars(panels, name, 'data blocks per operation', data.cells.filter((cell) => placeOf(cell) === name),
          (cell, store) => figureOf(cell, store)?.block_reads);
    }
  }

  // Reached goals below the line, missed ones above it.
  function goals(place) {
    const rows = data.cells.filter((cell) => cell.goal && cell.ratio);
    if (rows.length === 0) return;
    place.classList.add('tall', 'single');
    Plots.addLegend(place, [
      {label: 'ratio to the better other store', colour: Plots.colour('standard'), mark: 'bar'},
      {label: 'goal', colour: Plots.colour('none'), mark: 'bar'},
    ]);
    Plots.addChart(Plots.addPanels(place), 'Ratio and goal', 'ratios and their goals; see the table', {
      type: 'bar',
      data: {
        labels: rows.map((cell) => [label(cell), `${cell.size}, ${cell.state}`]),
        datasets: [
          {label: 'ratio', backgroundColor: Plots.colour('standard'), data: rows.map((cell) => cell.ratio.median)},
          {label: 'goal', backgroundColor: Plots.colour('none'), data: rows.map((cell) => cell.goal)},
        ],
      },
      options: {
        datasets: {bar: {categoryPercentage: 0.8, barPercentage: 0.94}},
        scales: {
          x: Plots.categoryAxis(''),
          y: Plots.axis('time / better other store\u2019s time', {beginAtZero: true, grace: '14%'}),
        },
      },
      plugins: [Plots.barLabels()],
    });
  }

  function latency(place) {
    legend(place);
    place.classList.add('single');
    const panels = Plots.addPanels(place);
    const shares = ['p50', 'p99', 'p99.9', 'p99.99', 'longest'];
    const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
    for (const cell of data.cells.filter((each) => each.figures.some((figure) => figure.put_us.length > 0))) {
      const of = (name) => {
        const figure = figureOf(cell, name);
        return figure ? shares.map((_, i) => median(figure.put_us.map((round) => round[i]))) : [];
      };
      Plots.addChart(panels, placeOf(cell), `latency of puts, ${placeOf(cell)}; see the table`, {
        type: 'line',
        data: {
          labels: shares,
          datasets: names.map((name) => ({
            label: name, borderColor: colourOf(name), backgroundColor: colourOf(name), pointRadius: 4, borderWidth: 2,
            data: of(name),
          })),
        },
        options: {scales: {
          x: Plots.categoryAxis('share of puts'),
          y: Plots.logAxis('microseconds (log scale)', Plots.logRange(names.flatMap(of))),
        }},
      });
    }
  }

  Plots.start({goals, times, reads, openings, latency});
})();
