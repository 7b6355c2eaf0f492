'use strict';

// Shared by all plots: colours, axes, legends, lines with marks, tables with coloured cells, and texts on
// charts.
//
// A configuration has the same colour in every plot.  Kinds differ in hue and in the shape of their marks,
// targets in lightness.  Colour-blind readers can distinguish blue and orange.

const Plots = (() => {
  const figures = [];  // {element, draw}: drawn again when the colours change
  let charts = [];
  let printing = false;

  const isDark = () => !printing && matchMedia('(prefers-color-scheme: dark)').matches;
  const softInk = () => (isDark() ? '#a3aeb9' : '#55606b');
  const gridLine = () => (isDark() ? '#323b43' : '#dde1e6');

  // Hue, saturation and mark.  Kinds not listed look like `other`.
  const looks = {
    'standard': [204, 78, 'circle'],
    'blocked': [26, 92, 'rect'],
    'split-block': [350, 65, 'rectRot'],
    'ribbon': [150, 70, 'triangle'],
    'fuse3': [265, 60, 'star'],
    'fuse4': [310, 55, 'cross'],
    'shifting': [85, 60, 'crossRot'],
    'shifting-double': [265, 60, 'rectRot'],
    'spatial': [26, 92, 'rect'],
    'dynamic': [150, 70, 'triangle'],
    'scalable': [265, 60, 'rectRot'],
    'other': [285, 45, 'rect'],
  };
  // Filters made of rows are named after these too: 'dynamic-blocked'.
  const lookOf = (kind) => looks[kind] || looks[kind.replace(/^(dynamic|scalable)-.*$/, '$1')] || looks.other;

  // `shade` in [0, 1]: light to dark; on a dark background dark to light.
  function colour(kind, shade = 0.5) {
    if (kind === 'none') return isDark() ? '#9aa4ae' : '#77808a';
    const [hue, saturation] = lookOf(kind);
    const lightness = isDark() ? 42 + 34 * shade : 70 - 40 * shade;
    return `hsl(${hue}, ${saturation}%, ${lightness}%)`;
  }

  const markOf = (kind) => (kind === 'none' ? 'crossRot' : lookOf(kind)[2]);

  // At most three digits: 1.23M, 12.3k, 0.0123.
  function short(value) {
    if (value === null || value === undefined || !isFinite(value)) return '-';
    const size = Math.abs(value);
    const three = (v) => {
      if (v === 0) return '0';
      const decimals = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.abs(v)))));
      return v.toFixed(decimals).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
    };
    if (size >= 999.5e6) return three(value / 1e9) + 'G';
    if (size >= 999.5e3) return three(value / 1e6) + 'M';
    if (size >= 9999.5) return three(value / 1e3) + 'k';
    return three(value);
  }

  function axis(title, extra = {}) {
    return {
      title: {display: title !== '', text: title, color: softInk(), font: {size: 12}},
      ticks: {color: softInk(), callback: (value) => short(value)},
      grid: {color: gridLine(), borderColor: gridLine()},
      ...extra,
    };
  }

  function categoryAxis(title) {
    const made = axis(title, {type: 'category', offset: true});
    made.ticks = {color: softInk()};
    made.grid = {display: false, borderColor: gridLine()};
    return made;
  }

  // Labels only at 1, 2 and 5 times the powers of ten; over many decades only at the powers.  (Chart.js
  // also puts ticks at both ends of the axis.)
  function logAxis(title, extra = {}) {
    const made = axis(title, {type: 'logarithmic', ...extra});
    made.ticks = {
      color: softInk(),
      autoSkip: false,
      callback(value) {
        const power = Math.floor(Math.log10(value) + 1e-9);
        const lead = Math.round(value / 10 ** power);
        if (Math.abs(value / 10 ** power - lead) > 0.01) return null;
        const decades = Math.log10(this.max / this.min);
        const wanted = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
        return wanted.includes(lead) ? short(value) : null;
      },
    };
    made.grid = {
      borderColor: gridLine(),
      color: (context) => (context.tick && context.tick.label ? gridLine() : 'transparent'),
    };
    return made;
  }

  // The range of a log axis with room around the positive values.
  function logRange(values, factor = 1.5) {
    const positive = values.filter((value) => value > 0);
    if (positive.length === 0) return {};
    return {min: Math.min(...positive) / factor, max: Math.max(...positive) * factor};
  }

  // Vertical labels with the values above the bars.
  const barLabels = (textOf = short) => ({
    id: 'barLabels',
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      context.save();
      context.fillStyle = softInk();
      context.font = '10px system-ui, "DejaVu Sans", sans-serif';
      context.textBaseline = 'middle';
      chart.data.datasets.forEach((dataset, d) => {
        chart.getDatasetMeta(d).data.forEach((bar, i) => {
          const value = dataset.data[i];
          if (value === null || value === undefined) return;
          context.save();
          context.translate(bar.x, Math.min(bar.y, bar.base) - 4);
          context.rotate(-Math.PI / 2);
          context.fillText(textOf(value), 0, 0);
          context.restore();
        });
      });
      context.restore();
    },
  });

  // A text beside each point with a name, at the first of four places that is free of texts and points.
  const pointNames = {
    id: 'pointNames',
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      context.save();
      context.fillStyle = softInk();
      context.font = '11px system-ui, "DejaVu Sans", sans-serif';
      const taken = [];  // [left, top, right, bottom]
      const named = [];
      chart.data.datasets.forEach((dataset, d) => chart.getDatasetMeta(d).data.forEach((mark, i) => {
        taken.push([mark.x - 5, mark.y - 5, mark.x + 5, mark.y + 5]);
        if (dataset.data[i].name) named.push([mark, dataset.data[i].name]);
      }));
      for (const [mark, name] of named) {
        const width = context.measureText(name).width;
        const places = [[8, -7], [-8 - width, 14], [8, 14], [-8 - width, -7]].map(([x, y]) => {
          const left = mark.x + x, base = mark.y + y;
          return [left, base - 9, left + width, base + 3];
        });
        const isFree = (place) => taken.every((other) => place[2] < other[0] || other[2] < place[0] ||
            place[3] < other[1] || other[3] < place[1]);
        const place = places.find(isFree) || places[0];
        taken.push(place);
        context.fillText(name, place[0], place[3] - 3);
      }
      context.restore();
    },
  };

  // A vertical line from low to high through each point with an interval: [low, high].
  const intervals = {
    id: 'intervals',
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      chart.data.datasets.forEach((dataset, d) => {
        chart.getDatasetMeta(d).data.forEach((mark, i) => {
          const interval = dataset.data[i] && dataset.data[i].interval;
          if (!interval) return;
          const low = chart.scales.y.getPixelForValue(interval[0]);
          const high = chart.scales.y.getPixelForValue(interval[1]);
          const {left, top, right, bottom} = chart.chartArea;
          context.save();
          context.beginPath();
          context.rect(left, top, right - left, bottom - top);
          context.clip();
          context.strokeStyle = dataset.borderColor;
          context.lineWidth = 1.5;
          context.beginPath();
          context.moveTo(mark.x, low);
          context.lineTo(mark.x, high);
          for (const end of [low, high]) {
            context.moveTo(mark.x - 5, end);
            context.lineTo(mark.x + 5, end);
          }
          context.stroke();
          context.restore();
        });
      });
    },
  };

  // Points {x, y, name, interval} as a line, as marks, or both.
  function series(label, ink, points, {mark = 'circle', line = true, dashed = false, hollow = false} = {}) {
    return {
      label,
      borderColor: ink,
      backgroundColor: hollow ? 'transparent' : ink,
      borderDash: dashed ? [5, 4] : [],
      borderWidth: mark === null ? 1.5 : 2,
      pointStyle: mark === null ? 'circle' : mark,
      pointRadius: mark === null ? 0 : 4,
      pointBorderWidth: 1.5,
      pointHoverRadius: mark === null ? 0 : 6,
      showLine: line,
      data: points,
    };
  }

  // A chart of such series.
  function addLines(panels, heading, description, datasets, x, y, plugins = []) {
    addChart(panels, heading, description, {
      type: 'scatter', data: {datasets}, options: {scales: {x, y}}, plugins,
    });
  }

  // A table with coloured cells: blue for -limit, no colour for 0, red for limit.
  // rows: {name, cells: [{text, value, title} or null]}
  function addHeatTable(place, corner, columns, rows, limit) {
    const shadeOf = (value) => {
      const strength = Math.min(1, Math.abs(value) / limit);
      const hue = value > 0 ? 12 : 210;
      return `hsla(${hue}, 80%, ${isDark() ? 50 : 55}%, ${(0.75 * strength).toFixed(2)})`;
    };
    const scroll = element('div', {class: 'scroll'});
    const table = element('table', {class: 'heat'});
    const head = element('tr');
    for (const name of [corner, ...columns]) head.append(element('th', {class: 'n', scope: 'col'}, name));
    table.append(head);
    for (const row of rows) {
      const line = element('tr');
      line.append(element('th', {class: 'n', scope: 'row'}, row.name));
      for (const cell of row.cells) {
        line.append(cell === null ? element('td') : element('td', {
          class: 'n', title: cell.title, style: `background: ${shadeOf(cell.value)}`,
        }, cell.text));
      }
      table.append(line);
    }
    scroll.append(table);
    place.append(scroll);
  }

  function element(name, attributes = {}, text = '') {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  // entries: {label, colour, mark, hollow, line}.  mark: 'bar', 'dash', 'line', or one of Chart.js's marks
  // that are drawn below.  line: draws a line through the mark if the mark does not imply it.
  function addLegend(parent, entries) {
    const list = element('ul', {class: 'legend'});
    for (const entry of entries) {
      const item = element('li');
      const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      svg.setAttribute('width', '16');
      svg.setAttribute('height', '14');
      const filled = `fill="${entry.hollow ? 'none' : entry.colour}" stroke="${entry.colour}" stroke-width="1.5"`;
      const shape = {
        line: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>`,
        triangle: `<path d="M8 2L13 12H3Z" ${filled}/>`,
        rectRot: `<path d="M8 1L14 7L8 13L2 7Z" ${filled}/>`,
        star: `<path d="M8 2V12M3 7H13M4.5 3.5L11.5 10.5M11.5 3.5L4.5 10.5" stroke="${entry.colour}" stroke-width="1.5"/>`,
        cross: `<path d="M8 2V12M3 7H13" stroke="${entry.colour}" stroke-width="2"/>`,
        bar: `<rect x="2" y="1" width="12" height="12" fill="${entry.colour}"/>`,
        circle: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>` +
                `<circle cx="8" cy="7" r="4" ${filled}/>`,
        rect: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>` +
              `<rect x="4" y="3" width="8" height="8" ${filled}/>`,
        crossRot: `<path d="M4 3L12 11M12 3L4 11" stroke="${entry.colour}" stroke-width="2"/>`,
        dash: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2" stroke-dasharray="4 3"/>`,
      }[entry.mark];
      const through = `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>`;
      svg.innerHTML = entry.line === undefined ? shape : (entry.line ? through : '') + shape.replace(through, '');
      item.append(svg, entry.label);
      list.append(item);
    }
    parent.append(list);
  }

  function addPanels(parent) {
    const panels = element('div', {class: 'panels'});
    parent.append(panels);
    return panels;
  }

  // A heading and a sentence in place of a plot without data.
  function addText(panels, heading, text) {
    const panel = element('div', {class: 'panel'});
    panel.append(element('h3', {}, heading), element('p', {}, text));
    panels.append(panel);
  }

  // One chart with a heading.  `description` is for readers who cannot see it.
  function addChart(panels, heading, description, configuration) {
    const panel = element('div', {class: 'panel'});
    const holder = element('div', {class: 'canvas'});
    const canvas = element('canvas', {role: 'img', 'aria-label': description});
    holder.append(canvas);
    panel.append(element('h3', {}, heading), holder);
    panels.append(panel);
    configuration.options = {
      animation: false,
      maintainAspectRatio: false,
      responsive: true,
      ...configuration.options,
      plugins: {legend: {display: false}, ...(configuration.options || {}).plugins},
    };
    charts.push(new Chart(canvas, configuration));
  }

  function drawAll() {
    charts.forEach((chart) => chart.destroy());
    charts = [];
    for (const figure of figures) {
      figure.element.replaceChildren();
      figure.draw(figure.element);
    }
  }

  // Finds the elements of the page that name a plot, and draws those plots.
  function start(plotsByName) {
    if (typeof Chart === 'undefined') return;
    for (const place of document.querySelectorAll('.plot')) {
      const draw = plotsByName[place.dataset.plot];
      if (!draw) continue;
      figures.push({element: place, draw});
      for (const table of place.parentElement.querySelectorAll('details')) table.open = false;
    }
    drawAll();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
    let closed = [];
    addEventListener('beforeprint', () => {
      printing = true;
      closed = [...document.querySelectorAll('details:not([open])')];
      closed.forEach((details) => { details.open = true; });
      drawAll();
    });
    addEventListener('afterprint', () => {
      printing = false;
      closed.forEach((details) => { details.open = false; });
      drawAll();
    });
  }

  return {
    addChart, addHeatTable, addLegend, addLines, addPanels, addText, axis, barLabels, categoryAxis, colour, intervals,
    logAxis, logRange, markOf, pointNames, series, short, softInk, start,
  };
})();
