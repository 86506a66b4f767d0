extension Stylesheet {
  /// Tables that scroll inside their boxes, images and bytes.
  static let tables = """
    .scroll { width: fit-content; max-width: 100%; max-height: max(20rem, 80vh); overflow: auto;
      border: 1px solid var(--line); border-radius: var(--radius); scroll-padding: 2.25rem 0 0 12rem; }
    table { border-collapse: separate; border-spacing: 0; }
    .grid th, .grid td { padding: var(--s1) var(--s3); border-bottom: 1px solid var(--line); text-align: left;
      vertical-align: middle; white-space: nowrap; max-width: 28rem; overflow: hidden; text-overflow: ellipsis;
      background: var(--paper); font-weight: 400; }
    .grid tbody tr:last-child > * { border-bottom: 0; }
    .grid thead th { position: sticky; top: 0; z-index: 2; background: var(--surface); color: var(--muted);
      font-size: var(--t1); font-weight: 600; line-height: 1.5rem; }
    .grid th:first-child { position: sticky; left: 0; z-index: 1; max-width: min(24rem, 60vw); }
    .grid thead th:first-child { z-index: 3; }
    .grid .numeric { text-align: right; }
    .grid tbody tr:hover > * { background: var(--surface); }
    .grid tbody tr:focus-within > * { background: var(--accent-soft); }
    .grid tbody th > a { display: inline-block; min-width: 1.5rem; max-width: 100%; overflow: hidden;
      text-overflow: ellipsis; vertical-align: top; outline-offset: 1px; }
    .sort { display: inline-flex; gap: var(--s1); align-items: center; min-height: 1.5rem; color: var(--muted); }
    .numeric .sort { flex-direction: row-reverse; }
    .sort > span:last-child { width: .75rem; font-size: .625rem; }
    [aria-sort] .sort { color: var(--ink); }
    .comparison th, .comparison td { white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top; }
    .comparison th:first-child { min-width: 5.5rem; overflow-wrap: break-word; }
    .comparison td { width: 24rem; min-width: 10rem; max-width: 48rem; }
    .comparison .old { box-shadow: inset 3px 0 var(--red); }
    .comparison .new { box-shadow: inset 3px 0 var(--green); }
    .comparison .ours { box-shadow: inset 3px 0 var(--accent); }
    .comparison .theirs { box-shadow: inset 3px 0 var(--amber); }
    .comparison .absent { color: var(--muted); }
    del { background: var(--red-soft); color: var(--red); text-decoration: line-through; }
    ins { background: var(--green-soft); color: var(--green); text-decoration: underline; }
    .hex { font: var(--t2)/1.5 var(--mono); }
    .hex th, .hex td { padding: 0 var(--s3); white-space: pre; text-align: left; font-weight: 400; }
    .hex th { color: var(--muted); }
    .hex thead th { position: sticky; top: 0; background: var(--surface); font: 600 var(--t1)/2rem var(--sans);
      border-bottom: 1px solid var(--line); }
    .preview { display: inline-block; width: 8rem; aspect-ratio: 4 / 3; overflow: hidden;
      border: 1px solid var(--line); border-radius: var(--radius); vertical-align: top;
      background: repeating-conic-gradient(var(--sunken) 0 25%, var(--paper) 0 50%) 0 0 / 16px 16px; }
    .preview.large { width: min(100%, 40rem); }
    .preview img { display: block; width: 100%; height: 100%; object-fit: contain; }
    .grid .preview { width: 4rem; }
    .comparison .preview { width: 100%; max-width: 16rem; }

    """

  /// Drawings: their shapes have classes instead of colours, so that they follow the page.
  static let drawings = """
    svg text { fill: var(--ink); font: 12px/1 var(--sans); }
    svg text.code { font-family: var(--mono); font-size: 11px; }
    svg text.small { fill: var(--muted); font-size: 11px; }
    svg text.strong { font-weight: 600; }
    svg a text { fill: var(--accent); }
    svg a .cell ~ text { fill: var(--ink); }
    svg a:hover text { text-decoration: underline; }
    .bar-cell { width: 8rem; }
    svg.bar { display: inline-block; width: 6rem; height: .5rem; vertical-align: baseline; background: none;
      border: 0; }
    .bar .track { fill: var(--sunken); }
    .bar .fill { fill: var(--edge); }
    .drawing { max-width: 90rem; }
    .sheet svg { min-width: 60rem; }
    .sheet svg, .canvas svg { display: block; width: 100%; height: auto; }
    .sheet, .canvas { border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; }
    .sheet { overflow-x: auto; }
    figcaption { padding: var(--s2) 0 0; color: var(--muted); font-size: var(--t1); }
    .paper { fill: none; }
    .box { fill: var(--paper); stroke: var(--edge); }
    .head { stroke: var(--edge); fill: var(--sunken); }
    .box.abstract, .head.abstract { stroke-dasharray: 4 3; }
    .box.good, .box.follow, .head.good, .head.follow, .cell.good, .cell.follow { fill: var(--green-soft);
      stroke: var(--green); }
    .box.share, .head.share, .cell.share, .box.current { fill: var(--accent-soft); stroke: var(--accent); }
    .box.warning, .head.warning, .cell.warning { fill: var(--amber-soft); stroke: var(--amber); }
    .box.bad, .head.bad, .cell.bad { fill: var(--red-soft); stroke: var(--red); }
    .box.skip, .head.skip { fill: var(--surface); stroke-dasharray: 3 3; }
    .link, .parent { fill: none; stroke: var(--edge); stroke-width: 1.5; }
    .parent { stroke-dasharray: 5 4; }
    .link.follow, .link.good { stroke: var(--green); }
    .link.share { stroke: var(--accent); }
    .link.warning { stroke: var(--amber); }
    .link.bad { stroke: var(--red); }
    .link.skip { stroke-dasharray: 2 3; }
    .tip { fill: var(--edge); }
    .tip.follow, .tip.good { fill: var(--green); }
    .tip.share { fill: var(--accent); }
    .tip.warning { fill: var(--amber); }
    .tip.bad { fill: var(--red); }
    .tip.hollow { fill: var(--paper); stroke: var(--edge); }
    .cell { fill: var(--sunken); stroke: var(--paper); }
    .series-1 { fill: var(--series-1); } .series-2 { fill: var(--series-2); } .series-3 { fill: var(--series-3); }
    .series-4 { fill: var(--series-4); } .series-5 { fill: var(--series-5); } .series-6 { fill: var(--series-6); }
    .canvas { height: min(75vh, 60rem); min-height: 20rem; background: var(--surface); }
    .canvas svg { height: 100%; }
    .scripted .canvas { cursor: grab; }
    .canvas:focus { touch-action: none; }
    .diagram .controls { justify-content: end; margin-bottom: var(--s2); }
    .legend { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); list-style: none; font-size: var(--t1);
      color: var(--muted); }
    .swatch { display: inline-block; width: .75rem; height: .75rem; margin-right: var(--s2);
      border: 1px solid var(--edge); border-radius: 2px; vertical-align: -1px; background: var(--sunken); }
    .swatch.good, .swatch.follow { background: var(--green-soft); border-color: var(--green); }
    .swatch.share { background: var(--accent-soft); border-color: var(--accent); }
    .swatch.warning { background: var(--amber-soft); border-color: var(--amber); }
    .swatch.bad { background: var(--red-soft); border-color: var(--red); }
    .swatch.skip { background: none; border-style: dashed; }
    .swatch.series-1 { background: var(--series-1); } .swatch.series-2 { background: var(--series-2); }
    .swatch.series-3 { background: var(--series-3); } .swatch.series-4 { background: var(--series-4); }
    .swatch.series-5 { background: var(--series-5); } .swatch.series-6 { background: var(--series-6); }

    """

  /// Narrow pages, print, and the preferences of the reader.
  static let media = """
    @media (scripting: none) { .script { display: none !important; } .canvas { height: auto; overflow: auto; } }
    :is(td, th, li, dd) > a, .tree a, a.object { display: inline-block; min-height: 1.5rem; line-height: 1.5rem; }
    .object .name { overflow-wrap: anywhere; }
    .object .id { color: var(--muted); font-size: .8125rem; white-space: nowrap; }
    .members { padding-left: var(--s5); }
    ol.members { padding-left: 3.5rem; }
    .element { padding-left: var(--s3); }
    .picture { display: inline-block; max-width: 100%; }
    .picture img { display: block; max-width: 100%; height: auto; border: 1px solid var(--line); }
    .text { white-space: pre-wrap; overflow-wrap: anywhere; }
    @media (max-width: 60rem) { .find { margin-left: 0; } }
    @media (max-width: 40rem) {
      .frame, main, footer, .moment p { padding-inline: var(--s4); }
      h1 { font-size: var(--t4); }
      .head { margin-bottom: var(--s4); }
      .find { flex: 1 0 100%; }
      .find div, .find input { flex: 1; width: 100%; min-width: 0; }
      .predicate input[list], .pager p { flex-basis: 100%; }
      .find kbd, .keys { display: none; }
      .sections { margin-inline: calc(-1 * var(--s2)); }
      .sections a { padding-inline: var(--s2); }
      .definitions > div { grid-template-columns: minmax(0, 1fr); }
      .grid th, .grid td { padding-inline: var(--s2); max-width: 70vw; }
      .grid th:first-child { max-width: 45vw; }
      .comparison td { min-width: 7rem; }
      .preview { width: 6rem; }
      .canvas { height: 70vh; }
    }
    @media (prefers-reduced-motion: reduce) {
      *, ::before, ::after { animation: none !important; transition: none !important; }
    }
    @media (prefers-contrast: more) { :root { --muted: var(--ink); --line: var(--edge); } }
    @media (forced-colors: active) {
      .badge, .notice, .empty, .preview { border: 1px solid CanvasText; }
      .sections a[aria-current], .tabs a[aria-current] { outline: 2px solid Highlight; outline-offset: -2px; }
      .box, .head, .cell { fill: Canvas; stroke: CanvasText; }
      .box.current { stroke: Highlight; stroke-width: 3; }
      .link, .parent { stroke: CanvasText; }
      .tip, .bar .fill, svg text { fill: CanvasText; }
      .bar .track { fill: Canvas; stroke: CanvasText; }
      svg a text { fill: LinkText; }
      .timeline > li[aria-current]::before { background: Highlight; }
    }
    @media print {
      .sections, .find, .skip-link, .toolbar, .pager, .toast, .controls, .predicate, footer {
        display: none !important; }
      body { font-size: 9pt; }
      .frame, main, .moment p { padding-inline: 0; }
      .bar { background: none; }
      .scroll { width: auto; max-height: none; overflow: visible; border: 0; }
      .grid th, .grid td { position: static !important; white-space: normal; overflow-wrap: anywhere; }
      tr, figure, .timeline > li, .definitions > div { break-inside: avoid; }
      h2, h3 { break-after: avoid; }
      .canvas { height: auto; }
      .tree, .foldable { overflow: visible; }
      a { color: inherit; }
    }
    """
}
