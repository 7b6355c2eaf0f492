'use strict';

// What all plots share: colours, axes, legends, and two ways to write on a chart.
//
// A configuration keeps its colour in every plot.  Kinds differ in hue and in the shape of their marks,
// targets in lightness; blue and orange stay apart for the colour-blind.

const Plots = (() => {
  const figures = [];  // {element, draw}: what to draw again when the colours change
  let charts = [];
  let printing = false;

  const isDark = () => !printing && matchMedia('(prefers-color-scheme: dark)').matches;
  const softInk = () => (isDark() ? '#a3aeb9' : '#55606b');
  const gridLine = () => (isDark() ? '#323b43' : '#dde1e6');

  // `shade` in [0, 1]: light to dark, on a dark ground dark to light.
  function colour(kind, shade) {
    if (kind === 'none') return isDark() ? '#9aa4ae' : '#77808a';
    const [hue, saturation] = kind === 'standard' ? [204, 78] : kind === 'blocked' ? [26, 92] : [285, 45];
    const lightness = isDark() ? 42 + 34 * shade : 70 - 40 * shade;
    return `hsl(${hue}, ${saturation}%, ${lightness}%)`;
  }

  const markOf = (kind) => (kind === 'none' ? 'crossRot' : kind === 'standard' ? 'circle' : 'rect');

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

  // Labels at 1, 2 and 5 times the powers of ten only; the powers alone over many decades.  (Chart.js
  // puts ticks at the ends of the axis, too, wherever they lie.)
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

  // Room above the largest and below the least of positive values, for a log axis.
  function logRange(values, factor = 1.5) {
    const positive = values.filter((value) => value > 0);
    if (positive.length === 0) return {};
    return {min: Math.min(...positive) / factor, max: Math.max(...positive) * factor};
  }

  // The values on end above their bars.
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

  // A text beside each point that has a name; those of every other dataset below and to the left.
  const pointNames = {
    id: 'pointNames',
    afterDatasetsDraw(chart) {
      const context = chart.ctx;
      context.save();
      context.fillStyle = softInk();
      context.font = '11px system-ui, "DejaVu Sans", sans-serif';
      chart.data.datasets.forEach((dataset, d) => {
        chart.getDatasetMeta(d).data.forEach((mark, i) => {
          const below = d % 2 === 1;
          context.textAlign = below ? 'right' : 'left';
          context.fillText(dataset.data[i].name || '', mark.x + (below ? -8 : 8), mark.y + (below ? 14 : -7));
        });
      });
      context.restore();
    },
  };

  // A vertical line from low to high through a point that has an interval: [low, high].
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
          context.save();
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

  function element(name, attributes = {}, text = '') {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  // entries: {label, colour, mark: 'bar' | 'circle' | 'rect' | 'crossRot' | 'dash'}
  function addLegend(parent, entries) {
    const list = element('ul', {class: 'legend'});
    for (const entry of entries) {
      const item = element('li');
      const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      svg.setAttribute('width', '16');
      svg.setAttribute('height', '14');
      const shape = {
        bar: `<rect x="2" y="1" width="12" height="12" fill="${entry.colour}"/>`,
        circle: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>` +
                `<circle cx="8" cy="7" r="4" fill="${entry.colour}"/>`,
        rect: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2"/>` +
              `<rect x="4" y="3" width="8" height="8" fill="${entry.colour}"/>`,
        crossRot: `<path d="M4 3L12 11M12 3L4 11" stroke="${entry.colour}" stroke-width="2"/>`,
        dash: `<path d="M0 7H16" stroke="${entry.colour}" stroke-width="2" stroke-dasharray="4 3"/>`,
      }[entry.mark];
      svg.innerHTML = shape;
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

  // One chart with a heading.  `description` tells those who cannot see it what it shows.
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

  // Finds the places in the page that ask for plots by name, and draws them.
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
    addChart, addLegend, addPanels, axis, barLabels, categoryAxis, colour, intervals, logAxis,
    logRange, markOf, pointNames, short, softInk, start,
  };
})();
