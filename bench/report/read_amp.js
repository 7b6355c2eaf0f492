
// The plots of read_amp, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.benchmark !== 'read_amp') return;

  const fpps = [...new Set(data.stores.map((store) => store.target_fpp).filter((fpp) => fpp))];
  const kinds = [...new Set(data.stores.map((store) => store.filter))].filter((kind) => kind !== 'none');
  const cacheNames = {
    fits: 'cache: everything fits',
    tenth: 'cache: a tenth of the data',
    none: data.caches.some((cache) => cache.name === 'none' && cache.direct_io)
        ? 'cache: none, direct I/O' : 'cache: none (page cache)',
  };
  const workloadNames = {absent: 'absent keys', present: 'present keys', mixed: 'mixed keys'};

  const labelOf = (store) => (store.filter === 'none' ? 'no filter' : `${store.filter} ${store.target_fpp}`);
  function colourOf(store) {
    const at = fpps.indexOf(store.target_fpp);
    return Plots.colour(store.filter, fpps.length < 2 ? 0.5 : at / (fpps.length - 1));
  }
  const cellOf = (store, cache, workload) => data.cells.find(
      (cell) => cell.store === store.name && cell.cache === cache.name && cell.workload === workload);

  // A panel per cache; bars grouped by workload, one per store.
  function barsByCache(place, stores, axisTitle, valueOf, axisOf, textOf = Plots.short) {
    Plots.addLegend(place, stores.map(
        (store) => ({label: labelOf(store), colour: colourOf(store), mark: 'bar'})));
    const panels = Plots.addPanels(place);
    for (const cache of data.caches) {
      Plots.addChart(panels, cacheNames[cache.name], `${axisTitle}, ${cacheNames[cache.name]}; see the table`, {
        type: 'bar',
        data: {
          labels: data.workloads.map((workload) => workloadNames[workload]),
          datasets: stores.map((store) => ({
            label: labelOf(store),
            backgroundColor: colourOf(store),
            data: data.workloads.map((workload) => valueOf(cellOf(store, cache, workload))),
          })),
        },
        options: {
          datasets: {bar: {categoryPercentage: 0.86, barPercentage: 0.94}},
          scales: {
            x: Plots.categoryAxis(''),
            y: axisOf(axisTitle, stores.flatMap((store) => data.workloads.map(
                (workload) => valueOf(cellOf(store, cache, workload))))),
          },
        },
        plugins: [Plots.barLabels(textOf)],
      });
    }
  }

  function latency(place) {
    Plots.addLegend(place, data.stores.map(
        (store) => ({label: labelOf(store), colour: colourOf(store), mark: Plots.markOf(store.filter)})));
    const panels = Plots.addPanels(place);
    const percentiles = ['p50', 'p95', 'p99', 'p99.9'];
    for (const workload of data.workloads) {
      for (const cache of data.caches) {
        const cells = data.stores.map((store) => cellOf(store, cache, workload));
        // Null if too few lookups were timed.
        const medians = cells.map((cell) => percentiles.map((p) => cell.latency_us[p]?.median ?? null));
        const heading = `${workloadNames[workload]}, ${cacheNames[cache.name]}`;
        Plots.addChart(panels, heading, `latency percentiles, ${heading}; see the table`, {
          type: 'line',
          data: {
            labels: percentiles,
            datasets: data.stores.map((store, i) => ({
              label: labelOf(store),
              borderColor: colourOf(store),
              backgroundColor: colourOf(store),
              pointStyle: Plots.markOf(store.filter),
              borderDash: store.filter === 'none' ? [5, 4] : [],
              pointRadius: 4,
              pointBorderWidth: 2,
              borderWidth: 2,
              data: medians[i],
            })),
          },
          options: {
            scales: {
              x: Plots.categoryAxis('percentile of lookups'),
              y: Plots.logAxis('microseconds (log scale)', Plots.logRange(medians.flat())),
            },
          },
        });
      }
    }
  }

  // Side by side, so that neither kind hides the other.
  const besides = (kind) => 1.04 ** (2 * kinds.indexOf(kind) - (kinds.length - 1));
  const storesOf = (kind) => data.stores.filter((store) => store.filter === kind);
  const middle = (kind) => Plots.colour(kind, 0.5);

  // `scaled(store, value)` maps a probability of that store to the plotted value.
  function fppDatasets(scaled) {
    const observed = kinds.map((kind) => ({
      label: `${kind}, observed`,
      borderColor: middle(kind),
      backgroundColor: middle(kind),
      pointStyle: Plots.markOf(kind),
      pointRadius: 5,
      showLine: false,
      data: storesOf(kind).map((store) => ({
        x: store.target_fpp * besides(kind),
        y: scaled(store, store.observed_fpp),
        interval: [scaled(store, store.observed_fpp_low), scaled(store, store.observed_fpp_high)],
      })),
    }));
    const predicted = kinds.map((kind) => ({
      label: `${kind}, predicted`,
      borderColor: middle(kind),
      borderDash: [4, 3],
      borderWidth: 1.5,
      pointRadius: 0,
      showLine: true,
      data: storesOf(kind).map(
          (store) => ({x: store.target_fpp * besides(kind), y: scaled(store, store.predicted_fpp)})),
    }));
    return [...observed, ...predicted];
  }

  const targetLine = (points) => ({
    label: 'observed = target',
    borderColor: Plots.softInk(),
    borderDash: [2, 4],
    borderWidth: 1,
    pointRadius: 0,
    showLine: true,
    data: points,
  });

  function fppPlot(place) {
    Plots.addLegend(place, [
      ...kinds.map((kind) => ({
        label: `${kind}, observed (95 % interval)`, colour: middle(kind), mark: Plots.markOf(kind),
      })),
      ...kinds.map((kind) => ({label: `${kind}, predicted`, colour: middle(kind), mark: 'dash'})),
      {label: 'observed = target', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const range = Plots.logRange(storesOf('none').length === data.stores.length ? [0.01] : data.stores.flatMap(
        (store) => [store.target_fpp, store.observed_fpp, store.predicted_fpp]), 1.7);
    const targets = () => Plots.logAxis('target false-positive probability (log scale)', range);
    Plots.addChart(panels, 'Observed and target',
        'observed and target false-positive probability; see the table', {
          type: 'scatter',
          data: {datasets: [
            ...fppDatasets((store, value) => Math.max(value, range.min)),
            targetLine([{x: range.min, y: range.min}, {x: range.max, y: range.max}]),
          ]},
          options: {scales: {x: targets(), y: Plots.logAxis('observed (log scale)', range)}},
          plugins: [Plots.intervals],
        });
    Plots.addChart(panels, 'Observed / target',
        'observed false-positive probability divided by the target; see the table', {
          type: 'scatter',
          data: {datasets: [
            ...fppDatasets((store, value) => value / store.target_fpp),
            targetLine([{x: range.min, y: 1}, {x: range.max, y: 1}]),
          ]},
          options: {scales: {
            x: targets(),
            y: Plots.axis('observed / target', {suggestedMin: 0.85, suggestedMax: 1.15}),
          }},
          plugins: [Plots.intervals],
        });
  }

  function memoryPlot(place) {
    const workload = data.workloads.includes('absent') ? 'absent' : data.workloads[0];
    const cache = data.caches[0];
    const wasted = (store) => cellOf(store, cache, workload).per_lookup.wasted_reads;
    Plots.addLegend(place, ['none', ...kinds].map((kind) => ({
      label: kind === 'none' ? 'no filter' : kind, colour: middle(kind), mark: Plots.markOf(kind),
    })));
    place.classList.add('single');
    const most = Math.max(...data.stores.map((store) => store.filter_bits_per_key));
    Plots.addChart(Plots.addPanels(place), `Wasted reads per lookup, ${workloadNames[workload]}`,
        'wasted reads by filter memory; see the table', {
          type: 'scatter',
          data: {datasets: ['none', ...kinds].map((kind) => ({
            label: kind,
            borderColor: middle(kind),
            backgroundColor: middle(kind),
            pointStyle: Plots.markOf(kind),
            pointRadius: 5,
            pointBorderWidth: 2,
            borderWidth: 2,
            showLine: kind !== 'none',
            clip: false,
            data: data.stores.filter((store) => store.filter === kind).map((store) => ({
              x: store.filter_bits_per_key,
              y: wasted(store),
              name: kind === 'none' ? 'no filter' : `target ${store.target_fpp}`,
            })),
          }))},
          options: {scales: {
            x: Plots.axis('filter bits per key', {min: 0, suggestedMax: 1.15 * most}),
            y: Plots.logAxis('wasted reads per lookup (log scale)', Plots.logRange(data.stores.map(wasted), 2)),
          }},
          plugins: [Plots.pointNames],
        });
  }

  // Room for the labels above the bars.
  const linearAxis = (title) => Plots.axis(title, {beginAtZero: true, grace: '18%'});
  const percentAxis = (title) => Plots.axis(title, {min: 0, max: 119, ticks: {
    color: Plots.softInk(), stepSize: 20, callback: (value) => (value > 100 ? null : value),
  }});
  const rateAxis = (title, values) => {
    const range = Plots.logRange(values, 1);
    return Plots.logAxis(`${title} (log scale)`, {min: range.min / 2, max: range.max * 4});
  };
  // 98.97 and 99.03 must look different.
  const percentText = (value) => value.toFixed(value >= 90 ? 2 : 1);

  Plots.start({
    avoided: (place) => barsByCache(
        place, data.stores.filter((store) => store.filter !== 'none'), 'avoided I/O, per cent',
        (cell) => cell.avoided_io_percent, percentAxis, percentText),
    blocks: (place) => barsByCache(
        place, data.stores, 'data blocks per lookup', (cell) => cell.compared_blocks, linearAxis),
    rate: (place) => barsByCache(
        place, data.stores, 'lookups per second', (cell) => cell.lookups_per_second.median, rateAxis),
    latency,
    fpp: fppPlot,
    memory: memoryPlot,
  });
})();
