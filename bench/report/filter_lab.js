
// The plots of filter_lab, drawn from the page's JSON (bench/report/JSON.md explains its members).
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const found = data.experiments;

  const unique = (values) => [...new Set(values)];
  const percent = (probability) => 100 * probability;
  const percentAxis = (title, values, factor = 1.5) =>
      Plots.logAxis(`${title}, % (log scale)`, Plots.logRange(values, factor));
  const positive = (points) => points.filter((point) => point.y > 0);
  const ink = (kind) => Plots.colour(kind, 0.5);

  // --- accuracy: a small panel per variant ---

  function accuracy(place, rows, xOf, xTitle) {
    Plots.addLegend(place, [
      {label: 'measured and predicted, with two standard errors to each side', colour: ink('standard'), mark: 'circle'},
      {label: 'as predicted', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('small');
    const panels = Plots.addPanels(place);
    const range = Plots.logRange(rows.map(xOf), 1.6);
    for (const variant of unique(rows.map((row) => row.variant))) {
      const points = rows.filter((row) => row.variant === variant && row.predicted > 0).map((row) => {
        const off = 100 * (row.measured / row.predicted - 1);
        const error = 200 * row.standard_error / row.predicted;
        return {x: xOf(row), y: off, interval: [off - error, off + error]};
      });
      Plots.addLines(panels, variant, `${variant}: measured and predicted; see the table`, [
        Plots.series('measured', ink('standard'), points, {line: false}),
        Plots.series('as predicted', Plots.softInk(), [{x: range.min, y: 0}, {x: range.max, y: 0}],
            {mark: null, dashed: true}),
      ], Plots.logAxis(xTitle, range), Plots.axis('off by, %', {suggestedMin: -6, suggestedMax: 6}),
      [Plots.intervals]);
    }
  }

  // --- kinds: space, rate, speed ---

  function kinds(place) {
    const rows = found.kinds.rows;
    const names = unique(rows.map((row) => row.kind));
    const few = Math.min(...rows.map((row) => row.keys));
    Plots.addLegend(place, [
      ...names.map((name) => ({label: name, colour: ink(name), mark: Plots.markOf(name)})),
      {label: 'limit of any filter, log2(1/e)', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const rates = Plots.logRange(rows.map((row) => percent(row.predicted)), 1.6);
    const rateAxis = () => Plots.logAxis('false-positive rate, % (log scale)', rates);
    const keys = `${Plots.short(few)} keys`;
    const of = (name, valueOf) => rows.filter((row) => row.kind === name && row.keys === few).map(
        (row) => ({x: percent(row.measured), y: valueOf(row)}));
    const limit = [rates.min, rates.max].map((x) => ({x, y: Math.log2(100 / x)}));
    Plots.addLines(panels, `Space: bits per key (${keys})`, 'bits per key by rate; see the table', [
      ...names.map((name) => Plots.series(name, ink(name), of(name, (row) => row.bits_per_key), {mark: Plots.markOf(name)})),
      Plots.series('limit', Plots.softInk(), limit, {mark: null, dashed: true}),
    ], rateAxis(), Plots.axis('bits per key', {min: 0}));
    Plots.addLines(panels, `Space over the limit (${keys})`, 'bits over the limit; see the table',
        names.map((name) => Plots.series(name, ink(name), of(name, (row) => row.overhead_percent), {mark: Plots.markOf(name)})),
        rateAxis(), Plots.axis('bits over log2(1/e), %', {min: 0}));
    for (const [title, valueOf] of [
      ['Query of an absent key', (row) => row.absent_ns],
      ['Query of a present key', (row) => row.present_ns],
      ['Queries of absent keys in batches', (row) => row.batch_absent_ns],
      ['Building', (row) => row.build_ns],
    ]) {
      for (const count of unique(rows.map((row) => row.keys))) {
        const shown = rows.filter((row) => row.keys === count && (row.target_fpp === 0.01));
        Plots.addLines(panels, `${title}: ${Plots.short(count)} keys, 1 %`, `${title}, by bits per key; see the table`,
            shown.map((row) => Plots.series(row.kind, ink(row.kind), [
              {x: row.bits_per_key, y: valueOf(row), name: row.kind},
            ], {mark: Plots.markOf(row.kind), line: false})),
            Plots.axis('bits per key', {min: 6, suggestedMax: 14}),
            Plots.logAxis('nanoseconds (log scale)', Plots.logRange(shown.map(valueOf), 1.8)), [Plots.pointNames]);
      }
    }
  }

  // --- the (m/n, k) table ---

  function bitsTable(place) {
    const rows = found['bits-table'].rows;
    const most = Math.max(...rows.map((row) => row.probes));
    const columns = Array.from({length: most}, (_, i) => `k = ${i + 1}`);
    const best = found['bits-table'].best;
    Plots.addLegend(place, [
      {label: 'cells: measured rate, %; red: above the formula, blue: below, full colour at 5 %', colour: Plots.softInk(), mark: 'bar'},
    ]);
    Plots.addHeatTable(place, 'm/n', ['(m/n) ln 2', '0.6185^(m/n)', ...columns], unique(rows.map((row) => row.bits_per_key)).map((bits) => {
      const own = best.find((row) => row.bits_per_key === bits);
      return {
        name: String(bits),
        cells: [
          {text: own.real_probes.toFixed(2), value: 0, title: 'the best k, which is not a whole number'},
          {text: Plots.short(percent(own.real_rate)), value: 0, title: 'rate with that k, %'},
          ...columns.map((_, i) => {
            const row = rows.find((each) => each.bits_per_key === bits && each.probes === i + 1);
            if (!row) return null;
            const off = 100 * (row.measured / row.predicted - 1);
            return {
              text: Plots.short(percent(row.measured)),
              value: off,
              title: `published ${Plots.short(percent(row.published))} %, measured ${off.toFixed(1)} % off the formula, ` +
                     `standard error ${(100 * row.standard_error / row.predicted).toFixed(1)} %`,
            };
          }),
        ],
      };
    }), 5);
  }

  // The best k, which is not a whole number, and the best whole k.
  function bestProbes(place) {
    const rows = found['bits-table'].best;
    const whole = {colour: ink('standard'), mark: 'circle', line: false};
    Plots.addLegend(place, [
      {label: 'the best whole k, measured', ...whole},
      {label: 'k = (m/n) ln 2, and its rate 0.6185^(m/n)', colour: Plots.softInk(), mark: 'line'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const bits = () => Plots.axis('bits per key, m/n', {min: 0, max: 21});
    const panel = (title, wholeOf, realOf, axis) => Plots.addLines(panels, title, `${title}; see the table`, [
      Plots.series('whole k', whole.colour, positive(rows.map((row) => ({x: row.bits_per_key, y: wholeOf(row)}))), whole),
      Plots.series('real k', Plots.softInk(), rows.map((row) => ({x: row.bits_per_key, y: realOf(row)})), {mark: null}),
    ], bits(), axis);
    panel('False-positive rate', (row) => percent(row.measured), (row) => percent(row.real_rate),
        percentAxis('false-positive rate', rows.flatMap((row) => [percent(row.measured), percent(row.real_rate)])));
    panel('Probes', (row) => row.probes, (row) => row.real_probes, Plots.axis('probes k', {min: 0, max: 16}));
  }

  // --- overfilled ---

  function overfill(place) {
    const rows = found.overfill.rows;
    const curves = unique(rows.map((row) => `${row.variant} ${row.target_fpp}`));
    const lookOf = (curve) => {
      const [variant, fpp] = curve.split(' ');
      return {colour: Plots.colour(variant, fpp === '0.001' ? 0.9 : 0.4), mark: Plots.markOf(variant), hollow: fpp === '0.001'};
    };
    Plots.addLegend(place, [
      ...curves.map((curve) => ({
        label: `${curve.replace(' ', ', planned for ')}, measured`, ...lookOf(curve),
      })),
      {label: 'predicted', colour: Plots.softInk(), mark: 'line'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const of = (curve, valueOf) => positive(rows.filter((row) => `${row.variant} ${row.target_fpp}` === curve).map(
        (row) => ({x: row.times, y: percent(valueOf(row))})));
    for (const [title, axisOf] of [
      ['Rate, log scale', () => percentAxis('false-positive rate', rows.map((row) => percent(row.predicted)))],
      ['Rate, linear', () => Plots.axis('false-positive rate, %', {min: 0, max: 100})],
    ]) {
      Plots.addLines(panels, title, 'rate over t; see the table', curves.flatMap((curve) => [
        Plots.series(curve, lookOf(curve).colour, of(curve, (row) => row.measured), {...lookOf(curve), line: false}),
        Plots.series(`${curve}, predicted`, lookOf(curve).colour, of(curve, (row) => row.predicted), {mark: null}),
      ]), Plots.axis('t: actual keys / planned keys', {min: 0, max: 5.2}), axisOf());
    }
  }

  // --- ClickHouse's choice ---

  function clickhouse(place) {
    const rows = found.clickhouse.rows.filter((row) => row.refusal === '');
    const looks = {
      // Drawn first, so it is on top; where the two agree, both are visible.
      'table': {colour: ink('fuse3'), mark: 'rectRot', hollow: true},
      'ClickHouse': {colour: ink('blocked'), mark: 'rect'},
      'optimum': {colour: ink('standard'), mark: 'circle'},
    };
    const names = {
      'table': 'bloom::ChooseFromTable', 'ClickHouse': 'ClickHouse', 'optimum': 'the best m and k',
    };
    Plots.addLegend(place, Object.keys(names).map((name) => ({label: names[name], ...looks[name]})));
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const targets = () => Plots.logAxis('target, % (log scale)', Plots.logRange(rows.map((row) => percent(row.target_fpp)), 1.5));
    const of = (name, valueOf) => rows.filter((row) => row.chooser === name).map(
        (row) => ({x: percent(row.target_fpp), y: valueOf(row)}));
    const panel = (title, valueOf, axis) => Plots.addLines(panels, title, `${title}; see the table`,
        Object.keys(names).map((name) => Plots.series(names[name], looks[name].colour, of(name, valueOf), looks[name])),
        targets(), axis);
    panel('Bits per key', (row) => row.bits_per_key, Plots.axis('bits per key', {min: 0}));
    panel('Probes', (row) => row.probes, Plots.axis('probes', {min: 0}));
    panel('Measured rate / target', (row) => row.measured / row.target_fpp,
        Plots.axis('measured / target', {min: 0, suggestedMax: 1.2}));
  }

  // --- retouched filters ---

  function retouching(place) {
    const rows = found.retouching.rows;
    const schemes = unique(rows.map((row) => row.scheme));
    const kinds = ['none', 'standard', 'blocked', 'fuse3', 'ribbon'];
    const look = (scheme) => {
      const kind = kinds[schemes.indexOf(scheme)];
      return {colour: ink(kind), mark: Plots.markOf(kind)};
    };
    Plots.addLegend(place, [
      ...schemes.map((scheme) => ({label: scheme, ...look(scheme)})),
      {label: 'theory, if known', colour: Plots.softInk(), mark: 'line'},
      {label: 'no gain: equal shares of both', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const point = (row, of) => ({x: percent(row.denied[of]), y: percent(row.removed[of])});
    const most = Math.max(...rows.map((row) => percent(row.denied.measured)));
    Plots.addLines(panels, 'False positives removed, by keys denied', 'removed by denied; see the table', [
      ...schemes.flatMap((scheme) => {
        const own = rows.filter((row) => row.scheme === scheme);
        return [
          Plots.series(scheme, look(scheme).colour, own.map((row) => point(row, 'measured')),
              {...look(scheme), line: own[0].denied.predicted === null}),
          Plots.series(`${scheme}, theory`, look(scheme).colour,
              own.filter((row) => row.denied.predicted !== null).map((row) => point(row, 'predicted')), {mark: null}),
        ];
      }),
      Plots.series('nothing won', Plots.softInk(), [{x: 0, y: 0}, {x: most, y: most}], {mark: null, dashed: true}),
    ], Plots.axis('keys denied, %', {min: 0}), Plots.axis('false positives removed, %', {min: 0, max: 100}));
    Plots.addLines(panels, 'Gain of a cleared bit: removed / denied (chi)', 'chi; see the table',
        schemes.map((scheme) => Plots.series(scheme, look(scheme).colour, rows.filter(
            (row) => row.scheme === scheme && row.chi !== null).map((row) => ({x: row.cleared, y: row.chi})), look(scheme))),
        Plots.logAxis('bits cleared (log scale)', Plots.logRange(rows.map((row) => row.cleared), 1.5)),
        Plots.axis('chi', {min: 0}));
  }

  // --- spectral filters ---

  function spectral(place) {
    const rows = found.spectral.rows;
    const methods = unique(rows.map((row) => row.method));
    const kinds = ['standard', 'blocked', 'ribbon'];
    const look = (method) => {
      const kind = kinds[methods.indexOf(method)];
      return {colour: ink(kind), mark: Plots.markOf(kind)};
    };
    Plots.addLegend(place, [
      ...methods.map((method) => ({label: method, ...look(method)})),
      {label: 'theory, if known', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const names = {zipf: 'zipfian counts', equal: 'equal counts'};
    const targets = () => Plots.logAxis('target, % (log scale)', Plots.logRange(rows.map((row) => percent(row.target_fpp)), 1.5));
    const of = (counts, method, valueOf) => rows.filter((row) => row.counts === counts && row.method === method).map(
        (row) => ({x: percent(row.target_fpp), y: valueOf(row)}));
    for (const counts of unique(rows.map((row) => row.counts))) {
      Plots.addLines(panels, `Keys with a wrong count: ${names[counts]}`, `${counts}; see the table`, methods.flatMap((method) => [
        Plots.series(method, look(method).colour, positive(of(counts, method, (row) => percent(row.measured))), look(method)),
        Plots.series(`${method}, theory`, Plots.softInk(), positive(of(counts, method, (row) => percent(row.predicted))),
            {mark: null, dashed: true}),
      ]), targets(), percentAxis('wrong counts', rows.map((row) => percent(row.measured))));
    }
    for (const counts of unique(rows.map((row) => row.counts))) {
      Plots.addLines(panels, `Mean error of a count: ${names[counts]}`, `${counts}; see the table`, methods.map(
          (method) => Plots.series(method, look(method).colour, positive(of(counts, method, (row) => row.mean_error)), look(method))),
      targets(), Plots.logAxis('mean error (log scale)', Plots.logRange(rows.map((row) => row.mean_error))));
    }
  }

  // --- shifting filters ---

  function shifting(place) {
    const rows = found.shifting.rows;
    const questions = {
      absent_ns: ['an absent key', 'standard'], present_ns: ['a present key', 'blocked'],
      batch_present_ns: ['present keys in batches', 'ribbon'],
    };
    const look = (kind) => ({colour: ink(kind), mark: Plots.markOf(kind)});
    Plots.addLegend(place, [
      ...Object.values(questions).map(([label, kind]) => ({label, ...look(kind)})),
      {label: 'as fast as standard', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    for (const keys of unique(rows.map((row) => row.keys))) {
      const of = (kind) => rows.filter((row) => row.keys === keys && row.kind === kind);
      const probes = of('standard').map((row) => row.probes);
      Plots.addLines(panels, `Times faster than standard: ${Plots.short(keys)} keys`, 'speed-up; see the table', [
        ...Object.entries(questions).map(([member, [label, kind]]) => Plots.series(label, look(kind).colour,
            of('standard').map((row, i) => ({x: row.probes, y: row[member] / of('shifting')[i][member]})), look(kind))),
        Plots.series('as fast', Plots.softInk(), [{x: probes[0], y: 1}, {x: probes[probes.length - 1], y: 1}],
            {mark: null, dashed: true}),
      ], Plots.axis('probes k', {suggestedMin: probes[0] - 1, suggestedMax: probes[probes.length - 1] + 1}),
      Plots.axis('standard / shifting', {min: 0, suggestedMax: 2}));
    }
  }

  // --- vectors ---

  // Bytes orange, components blue, the library green to purple; faulty ones hollow.
  const vectorLook = (name) => ({
    'BF of the study': {colour: ink('blocked'), mark: 'rect', hollow: true},
    'HDBF of the study': {colour: ink('standard'), mark: 'circle', hollow: true},
    'SAX of bytes, k hashes': {colour: ink('blocked'), mark: 'rect'},
    'SAX of components, k hashes': {colour: ink('standard'), mark: 'circle'},
    'vectors, blocked': {colour: ink('ribbon'), mark: 'triangle'},
    'vectors, standard': {colour: ink('fuse3'), mark: 'rectRot'},
    'vectors, counting': {colour: ink('split-block'), mark: 'star'},
  })[name];

  function vectors(place) {
    const rows = found.vectors.rows;
    const names = unique(rows.map((row) => row.filter));
    const look = vectorLook;
    Plots.addLegend(place, names.map((name) => ({label: name, ...look(name)})));
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const sets = unique(rows.map((row) => `${row.dimension}|${row.origin}`));
    const of = (set) => rows.filter((row) => `${row.dimension}|${row.origin}` === set);
    const milliseconds = Plots.logRange(rows.flatMap((row) => row.latency.map((point) => point.milliseconds)));
    for (const set of sets) {
      const [dimension, origin] = set.split('|');
      Plots.addLines(panels, `Time of all queries: dimension ${dimension}, ${origin}`, 'latency; see the table',
          of(set).map((row) => Plots.series(row.filter, look(row.filter).colour,
              row.latency.map((point) => ({x: point.queries, y: point.milliseconds})), look(row.filter))),
          Plots.axis('queries', {min: 0}), Plots.logAxis('milliseconds (log scale)', milliseconds));
    }
    const target = percent(found.vectors.target_fpp);
    Plots.addLines(panels, 'Rate by memory, all dimensions', 'rate by memory; see the table', [
      ...names.map((name) => Plots.series(name, look(name).colour, positive(rows.filter((row) => row.filter === name).map(
          (row) => ({x: row.memory_bytes / 1024, y: percent(row.measured)}))), {...look(name), line: false})),
      Plots.series('target', Plots.softInk(), [0, 64].map((x) => ({x, y: target})), {mark: null, dashed: true}),
    ], Plots.axis('memory of the filter, KiB', {min: 0}),
    percentAxis('false-positive rate', rows.map((row) => percent(row.measured))));
    const dimensions = unique(rows.map((row) => row.dimension));
    Plots.addLines(panels, 'Time of a query, by dimension', 'nanoseconds by dimension; see the table', names.map(
        (name) => Plots.series(name, look(name).colour, rows.filter((row) => row.filter === name && row.origin === 'made up').map(
            (row) => ({x: row.dimension, y: row.ns_per_query})), look(name))),
    Plots.logAxis('dimension (log scale)', Plots.logRange(dimensions, 1.5)),
    Plots.logAxis('nanoseconds (log scale)', Plots.logRange(rows.map((row) => row.ns_per_query))));
  }

  // --- BF and HDBF ---

  // Filters of one row get slightly different x, so that marks at the same rate do not hide each other.
  function hdbf(place, rows, xOf, xTitle) {
    const names = unique(rows.map((row) => row.filter));
    Plots.addLegend(place, [
      ...names.map((name) => ({label: name, ...vectorLook(name), line: true})),
      {label: 'theory', colour: Plots.softInk(), mark: 'dash'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const axis = () => Plots.logAxis(xTitle, Plots.logRange(rows.map(xOf), 1.4));
    const apart = (name) => 1.025 ** (names.indexOf(name) - (names.length - 1) / 2);
    const of = (name, valueOf, shift = apart(name)) => rows.filter((row) => row.filter === name).map(
        (row) => ({x: xOf(row) * shift, y: valueOf(row)}));
    // One range for both, so that times of adding and of querying can be compared.
    const times = () => Plots.logAxis('nanoseconds (log scale)', Plots.logRange(rows.flatMap((row) => [row.add_ns, row.absent_ns])));
    for (const [title, valueOf] of [
      ['Query of an absent vector', (row) => row.absent_ns], ['Adding a vector', (row) => row.add_ns],
    ]) {
      Plots.addLines(panels, title, `${title}; see the table`, names.map(
          (name) => Plots.series(name, vectorLook(name).colour, of(name, valueOf, 1), vectorLook(name))), axis(), times());
    }
    Plots.addLines(panels, 'Rate', 'rate; see the table', [
      ...names.map((name) => Plots.series(name, vectorLook(name).colour, positive(of(name, (row) => percent(row.measured))),
          {...vectorLook(name), line: false})),
      // One line for all filters with the same theory.
      ...names.filter((name, i) => names.findIndex((other) => JSON.stringify(of(other, (row) => row.predicted.toPrecision(2), 1)) ===
          JSON.stringify(of(name, (row) => row.predicted.toPrecision(2), 1))) === i).map((name) => Plots.series(
          `${name}, theory`, Plots.softInk(), of(name, (row) => percent(row.predicted), 1), {mark: null, dashed: true})),
    ], axis(), percentAxis('false-positive rate', rows.map((row) => percent(row.predicted))));
    // All filters of bits have the same size, except for rounding to lines in blocked ones; counters take four times as much.
    Plots.addLines(panels, 'Memory', 'memory; see the table', names.map(
        (name) => Plots.series(name, vectorLook(name).colour, of(name, (row) => row.memory_bytes / 1024), {...vectorLook(name), line: false})),
    axis(), Plots.logAxis('memory of the filter, KiB (log scale)', Plots.logRange(rows.map((row) => row.memory_bytes / 1024))));
  }

  // --- streams ---

  // Hollow if it would hide another mark at the same place.
  const streamLook = (stream) => ({
    normal: {colour: ink('standard'), mark: 'circle', hollow: true},
    uniform: {colour: ink('blocked'), mark: 'rect'},
    exponential: {colour: ink('ribbon'), mark: 'triangle'},
  })[stream];

  function distributions(place) {
    const rows = found.distributions.rows;
    Plots.addLegend(place, [
      ...rows.map((row) => ({label: `${row.distribution}, drawn`, ...streamLook(row.distribution), line: false})),
      {label: 'theory; in the last plot: if all rows were distinct', colour: Plots.softInk(), mark: 'line'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    for (const row of rows) {
      const points = (valueOf) => row.bins.map(
          (bin) => ({x: (bin.from + bin.to) / 2, y: valueOf(bin) / (bin.to - bin.from)}));
      const look = streamLook(row.distribution);
      Plots.addLines(panels, `${row.distribution}: ${Plots.short(row.rows)} rows`, `density of the ${row.distribution} stream; see the table`, [
        Plots.series('drawn', look.colour, points((bin) => bin.measured), {...look, line: false}),
        Plots.series('theory', Plots.softInk(), points((bin) => bin.predicted), {mark: null}),
      ], Plots.axis('value before multiplication'), Plots.axis('density', {min: 0, grace: '10%'}));
    }
    const last = Math.max(...rows.map((row) => row.rows));
    Plots.addLines(panels, 'Distinct rows', 'distinct rows by rows; see the table', [
      ...rows.map((row) => Plots.series(row.distribution, streamLook(row.distribution).colour,
          row.tenths.map((tenth) => ({x: tenth.rows, y: tenth.distinct})), {...streamLook(row.distribution), line: false})),
      Plots.series('all distinct', Plots.softInk(), [{x: 0, y: 0}, {x: last, y: last}], {mark: null}),
    ], rowsAxis(), Plots.axis('distinct rows', {min: 0}));
  }

  const hashOf = (run) => (run.hash === 'source' ? ', source\u2019s hash' : '');
  const styleOf = (run) => {
    const larger = run.filter === 'standard, 2 m';
    const kind = larger ? 'standard' : run.filter;
    return {colour: Plots.colour(kind, larger ? 1 : 0.45), mark: Plots.markOf(kind), hollow: run.hash === 'source' || larger};
  };
  const rowsAxis = () => Plots.axis('rows', {min: 0});

  function streaming(place) {
    const runs = found.streaming.runs.filter((run) => run.hash === 'sound');
    const shown = unique(runs.map((run) => run.filter)).map((name) => runs.find((run) => run.filter === name));
    Plots.addLegend(place, [
      ...shown.map((run) => ({label: `${run.filter}, measured`, ...styleOf(run)})),
      {label: 'theory', colour: Plots.softInk(), mark: 'line'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    for (const stream of unique(runs.map((run) => run.distribution))) {
      const here = runs.filter((run) => run.distribution === stream);
      const values = here.flatMap((run) => run.tenths.map((tenth) => percent(tenth.measured))).filter((v) => v > 0);
      const heading = `${stream}: rows answered wrongly, of all so far`;
      if (values.length === 0) {
        Plots.addText(panels, heading, 'No filter answered any row wrongly.');
        continue;
      }
      const range = Plots.logRange(values, 2);
      Plots.addLines(panels, heading, `${stream} stream; see the table`,
          here.flatMap((run) => [
            Plots.series(run.filter, styleOf(run).colour, positive(run.tenths.map(
                (tenth) => ({x: tenth.rows, y: percent(tenth.measured)}))), {...styleOf(run), line: false}),
            Plots.series(`${run.filter}, theory`, styleOf(run).colour, run.tenths.filter(
                (tenth) => percent(tenth.predicted) >= range.min).map(
                (tenth) => ({x: tenth.rows, y: percent(tenth.predicted)})), {mark: null}),
          ]), rowsAxis(), Plots.logAxis('answered wrongly, % (log scale)', range));
    }
  }

  // The sound hash and the source's side by side, on one scale.
  function streamingHash(place) {
    const runs = found.streaming.runs.filter((run) => run.distribution === 'uniform' && run.filter !== 'standard, 2 m');
    const names = unique(runs.map((run) => run.filter));
    Plots.addLegend(place, names.map((name) => {
      const run = runs.find((each) => each.filter === name);
      return {label: name, ...styleOf(run)};
    }));
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const range = Plots.logRange(runs.flatMap((run) => run.tenths.map((tenth) => percent(tenth.measured))), 2);
    for (const [hash, title] of [['sound', 'With a sound hash'], ['source', 'With the source\u2019s hash']]) {
      Plots.addLines(panels, `${title}: uniform stream`, `${title}; see the table`, runs.filter((run) => run.hash === hash).map(
          (run) => Plots.series(run.filter, styleOf(run).colour, positive(run.tenths.map(
              (tenth) => ({x: tenth.rows, y: percent(tenth.measured)}))), {mark: styleOf(run).mark})),
          rowsAxis(), Plots.logAxis('answered wrongly so far, % (log scale)', range));
    }
  }

  // A bar for each filter and stream; one scale for all.
  function streamingTotals(place) {
    const runs = found.streaming.runs.filter((run) => run.hash === 'sound' && run.filter !== 'standard, 2 m');
    const names = unique(runs.map((run) => run.filter));
    const parts = [
      ['drawing the rows, their text and digests', 'none', (run) => run.row_seconds],
      ['querying and adding', 'standard', (run) => run.filter_seconds],
    ];
    Plots.addLegend(place, parts.map(([label, kind]) => ({label, colour: ink(kind), mark: 'bar'})));
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const most = Math.max(...runs.map((run) => run.row_seconds + run.filter_seconds));
    for (const stream of unique(runs.map((run) => run.distribution))) {
      const of = (name) => runs.find((run) => run.distribution === stream && run.filter === name);
      const rows = of(names[0]).rows;
      Plots.addChart(panels, `${stream}: ${Plots.short(rows)} rows, ${Plots.short(of(names[0]).distinct)} distinct`, 'total times; see the table', {
        type: 'bar',
        data: {
          labels: names,
          datasets: parts.map(([label, kind, valueOf]) => ({
            label, stack: 'total', backgroundColor: ink(kind), data: names.map((name) => valueOf(of(name))),
          })),
        },
        options: {scales: {x: Plots.categoryAxis(''), y: Plots.axis('processor time, seconds', {min: 0, suggestedMax: most})}},
      });
    }
  }

  function streamingTimes(place) {
    const runs = found.streaming.runs.filter((run) => run.source !== null);
    const parts = [
      ['ours: the rows themselves', 'none', (run) => 1e9 * run.row_seconds / run.rows, 'ours'],
      ['ours: querying and adding', 'standard', (run) => 1e9 * run.filter_seconds / run.rows, 'ours'],
      ['the source\u2019s program', 'blocked', (run) => 1e9 * run.source.seconds / 1e8, 'source'],
    ];
    Plots.addLegend(place, parts.map(([label, kind]) => ({label, colour: ink(kind), mark: 'bar'})));
    place.classList.add('single');
    if (runs.length === 0) {
      Plots.addText(Plots.addPanels(place), 'Nanoseconds per row, uniform stream', 'These filters are smaller than the source\u2019s.');
      return;
    }
    Plots.addChart(Plots.addPanels(place), 'Nanoseconds per row, uniform stream', 'times; see the table', {
      type: 'bar',
      data: {
        labels: runs.map((run) => run.filter),
        datasets: parts.map(([label, kind, valueOf, stack]) => ({
          label, stack, backgroundColor: ink(kind), data: runs.map(valueOf),
        })),
      },
      options: {scales: {
        x: Plots.categoryAxis(''),
        y: Plots.axis('processor time per row, ns', {beginAtZero: true, grace: '10%'}),
      }},
    });
  }

  // Rates and times of each stream; one scale for all rates, and one for all times.
  function streamProbes(place) {
    const runs = found['stream-probes'].rows;
    const names = unique(runs.map((run) => run.filter));
    // Hollow, because it would hide shifting, which has the same rate.
    const look = (name) => ({...styleOf({filter: name, hash: 'sound'}), hollow: name === 'standard'});
    Plots.addLegend(place, [
      ...names.map((name) => ({label: `${name}, measured`, ...look(name), line: false})),
      {label: 'theory', colour: Plots.softInk(), mark: 'line'},
    ]);
    place.classList.add('tall');
    const panels = Plots.addPanels(place);
    const probes = () => {
      const axis = Plots.axis('probes k', {min: 1, max: Math.max(...runs.map((run) => run.probes)) + 1});
      axis.ticks.stepSize = 1;
      return axis;
    };
    const rates = Plots.logRange(runs.map((run) => percent(run.measured)), 2);
    const most = Math.max(...runs.map((run) => run.ns_per_row));
    for (const stream of unique(runs.map((run) => run.distribution))) {
      const of = (name, valueOf) => runs.filter((run) => run.distribution === stream && run.filter === name).map(
          (run) => ({x: run.probes, y: valueOf(run)}));
      if (runs.some((run) => run.distribution === stream && run.measured > 0)) {
        Plots.addLines(panels, `${stream}: answered wrongly`, 'rate by probes; see the table', names.flatMap((name) => [
          Plots.series(name, look(name).colour, positive(of(name, (run) => percent(run.measured))), {...look(name), line: false}),
          Plots.series(`${name}, theory`, look(name).colour,
              of(name, (run) => percent(run.predicted)).filter((point) => point.y >= rates.min), {mark: null}),
        ]), probes(), Plots.logAxis('answered wrongly, % (log scale)', rates));
      } else {
        Plots.addText(panels, `${stream}: answered wrongly`, 'No filter answered any row wrongly.');
      }
      Plots.addLines(panels, `${stream}: time`, 'time by probes; see the table', names.map(
          (name) => Plots.series(name, look(name).colour, of(name, (run) => run.ns_per_row), {...look(name), line: false})),
      probes(), Plots.axis('processor time per row, ns', {min: 0, suggestedMax: most}));
    }
  }

  Plots.start({
    accuracy_targets: (place) => accuracy(
        place, found.accuracy.over_targets, (row) => percent(row.target_fpp), 'target, % (log scale)'),
    accuracy_keys: (place) => accuracy(place, found.accuracy.over_keys, (row) => row.keys, 'keys (log scale)'),
    kinds,
    bits_table: bitsTable,
    best_probes: bestProbes,
    overfill,
    clickhouse,
    retouching,
    spectral,
    shifting,
    vectors,
    hdbf_keys: (place) => hdbf(place, found.hdbf.over_keys, (row) => row.keys, 'vectors (log scale)'),
    hdbf_targets: (place) => hdbf(place, found.hdbf.over_targets, (row) => percent(row.target_fpp), 'target, % (log scale)'),
    distributions,
    streaming,
    streaming_hash: streamingHash,
    streaming_times: streamingTimes,
    streaming_totals: streamingTotals,
    stream_probes: streamProbes,
  });
})();
