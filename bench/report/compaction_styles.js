
// The plot of compaction_styles, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  if (data.benchmark !== 'compaction_styles') return;

  const kinds = {'leveled': 'standard', 'tiered': 'blocked', 'lazy-leveled': 'ribbon'};  // for their colours
  const colourOf = (style) => Plots.colour(kinds[style.style], style.filters === 'goal' ? 0.9 : 0.4);
  const nameOf = (style) => style.style + (style.filters === 'goal' ? ', filter goal' : '');
  const groups = [
    ['write', (style) => style.write_amplification],
    ['blocks, present', (style) => style.present.blocks],
    ['blocks, absent', (style) => style.absent.blocks],
    ['filters, present', (style) => style.present.filters_asked],
    ['filters, absent', (style) => style.absent.filters_asked],
    ['space', (style) => style.space_amplification],
  ];

  // Bars grouped by kind of amplification, one per store.
  function amplification(place) {
    Plots.addLegend(place, data.styles.map(
        (style) => ({label: nameOf(style), colour: colourOf(style), mark: 'bar'})));
    place.classList.add('tall', 'single');
    const values = data.styles.flatMap((style) => groups.map(([, valueOf]) => valueOf(style)));
    const range = Plots.logRange(values, 1);
    Plots.addChart(Plots.addPanels(place), 'Write, read and space amplification',
        'write, read and space costs of each style; see the table', {
      type: 'bar',
      data: {
        labels: groups.map(([name]) => name),
        datasets: data.styles.map((style) => ({
          label: nameOf(style),
          backgroundColor: colourOf(style),
          data: groups.map(([, valueOf]) => valueOf(style) || null),
        })),
      },
      options: {
        datasets: {bar: {categoryPercentage: 0.8, barPercentage: 0.94}},
        scales: {
          x: Plots.categoryAxis(''),
          y: Plots.logAxis('times (log scale)', {min: range.min / 2, max: range.max * 4}),
        },
      },
      plugins: [Plots.barLabels()],
    });
  }

  Plots.start({amplification});
})();
