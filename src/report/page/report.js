// Draws the charts of report.html from the data block of the page. SPDX-License-Identifier: Apache-2.0
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const colour = { kept: '#1f8a4c', rolled_back: '#8a94a3', failed: '#b3261e', skipped: '#c9cfd7' };
  const palette = { MatMul: '#2b6cb0', Conv: '#805ad5', Attention: '#d53f8c', Norm: '#dd6b20', Elementwise: '#38a169', DataMovement: '#d69e2e', Other: '#718096', 'outside kernels': '#cbd5e0' };
  const charts = [];
  function chart(id, height, option) {
    const box = document.getElementById(id);
    if (!box) return;
    box.style.height = height + 'px';
    const c = echarts.init(box, null, { renderer: 'svg' });
    option.animation = false;
    option.textStyle = { fontFamily: 'inherit' };
    c.setOption(option);
    charts.push(c);
  }
  const ms = (v) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(4)) + ' ms';
  const text = (s) => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;');

  if (data.steps.length > 1) chart('steps', 300, {
    grid: { left: 70, right: 20, top: 30, bottom: 60 },
    tooltip: { formatter: (p) => text(data.steps[p.dataIndex].name) + '<br>' + ms(data.steps[p.dataIndex].ms) },
    xAxis: { type: 'category', data: data.steps.map((s) => s.name), axisLabel: { interval: 0, width: 120, overflow: 'break', fontSize: 11 } },
    yAxis: { type: 'value', name: 'ms per inference', min: 0 },
    series: [{ type: 'bar', barMaxWidth: 70, data: data.steps.map((s, i) => ({ value: s.ms, itemStyle: { color: i === 0 ? '#8a94a3' : '#1f8a4c' } })),
      label: { show: true, position: 'top', formatter: (p) => ms(p.value) } }],
  });

  const trials = data.trials.filter((t) => t.low > 0);
  if (trials.length) chart('trials', 70 + 26 * trials.length, {
    grid: { left: 260, right: 40, top: 10, bottom: 40 },
    tooltip: { formatter: (p) => { const t = trials[p.dataIndex]; return text(t.name) + '<br>' + t.estimate.toFixed(3) + ' [' + t.low.toFixed(3) + ', ' + t.high.toFixed(3) + ']<br>' + text(t.reason); } },
    xAxis: { type: 'log', logBase: 1.1, name: 'speed-up', nameLocation: 'middle', nameGap: 26, min: Math.min(0.8, ...trials.map((t) => t.low)) * 0.97, max: Math.max(1.25, ...trials.map((t) => t.high)) * 1.03,
      axisLabel: { formatter: (v) => v.toFixed(2) } },
    yAxis: { type: 'category', inverse: true, data: trials.map((t) => t.number + '  ' + t.name), axisLabel: { width: 240, overflow: 'truncate' } },
    series: [{
      type: 'custom',
      renderItem: (params, api) => {
        const t = trials[params.dataIndex], y = api.coord([1, params.dataIndex])[1];
        const x = (v) => api.coord([v, params.dataIndex])[0], stroke = colour[t.verdict] || '#8a94a3';
        return { type: 'group', children: [
          { type: 'line', shape: { x1: x(t.low), x2: x(t.high), y1: y, y2: y }, style: { stroke, lineWidth: 3 } },
          { type: 'circle', shape: { cx: x(t.estimate), cy: y, r: 5 }, style: { fill: stroke } } ] };
      },
      data: trials.map((t, i) => [t.estimate, i]),
      markArea: { silent: true, itemStyle: { color: 'rgba(120,130,145,0.13)' }, data: [[{ xAxis: 1 / 1.03 }, { xAxis: 1.03 }]] },
      markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: '#5b6675', type: 'solid' }, data: [{ xAxis: 1 }] },
    }],
  });

  const classes = [...new Set(data.time.flatMap((t) => t.classes.map((c) => c.name)))];
  if (data.time.length) chart('time', 90 + 46 * data.time.length, {
    grid: { left: 80, right: 30, top: 40, bottom: 40 },
    legend: { top: 0, itemGap: 18, itemWidth: 14 }, tooltip: { formatter: (p) => text(p.seriesName) + ': ' + ms(p.value) },
    xAxis: { type: 'value', name: 'ms per inference', nameLocation: 'middle', nameGap: 26 },
    yAxis: { type: 'category', inverse: true, data: data.time.map((t) => t.name) },
    series: classes.map((name) => ({ name, type: 'bar', stack: 'all', barMaxWidth: 34, itemStyle: { color: palette[name] || '#4a5568' },
      data: data.time.map((t) => (t.classes.find((c) => c.name === name) || { ms: 0 }).ms) })),
  });

  const points = data.roofline.points;
  if (points.length && data.roofline.gflops > 0 && data.roofline.gbs > 0) {
    const ridge = data.roofline.gflops / data.roofline.gbs;
    const lo = Math.min(0.05, ...points.map((p) => p.intensity)), hi = Math.max(ridge * 8, ...points.map((p) => p.intensity));
    chart('roofline', 360, {
      grid: { left: 70, right: 30, top: 40, bottom: 50 }, legend: { top: 0 },
      tooltip: { formatter: (p) => (p.data.node ? text(p.data.node) + '<br>' + p.value[1].toFixed(1) + ' GFLOP/s, ' + p.data.share.toFixed(1) + ' % of the time' : 'roof') },
      xAxis: { type: 'log', name: 'FLOP per byte', nameLocation: 'middle', nameGap: 28, min: lo, max: hi, axisLabel: { formatter: (v) => +v.toPrecision(2) } },
      yAxis: { type: 'log', name: 'GFLOP/s', min: Math.max(0.01, Math.min(...points.map((p) => p.gflops)) / 2), max: data.roofline.gflops * 2, axisLabel: { formatter: (v) => +v.toPrecision(2) } },
      series: [
        { name: 'roof (float32)', type: 'line', symbol: 'none', lineStyle: { color: '#1c2430' }, itemStyle: { color: '#1c2430' }, data: [[lo, lo * data.roofline.gbs], [ridge, data.roofline.gflops], [hi, data.roofline.gflops]] },
        ...['before', 'after'].map((when) => ({ name: when, type: 'scatter', itemStyle: { color: when === 'before' ? '#8a94a3' : '#1f8a4c', opacity: 0.8 },
          data: points.filter((p) => p.when === when).map((p) => ({ value: [p.intensity, p.gflops], node: p.node, share: p.share * 100, symbolSize: 5 + 40 * Math.sqrt(p.share) })) })).filter((s) => s.data.length),
      ],
    });
  }
  for (const box of document.querySelectorAll('.chart')) if (!box.firstChild) box.closest('section').remove();
  window.addEventListener('resize', () => charts.forEach((c) => c.resize()));
})();
