/// The style sheet of all pages.
///
/// One scale of spaces, one of text sizes, and the colours of ``Palette``. Nothing is loaded: fonts are those of the
/// system, so that a page does not move after it appears.
enum Stylesheet {
  static let text =
    Palette.styleSheet + foundation + frame + content + controls + tables + drawings
    + DiagramStyle.rules + media

  /// Scales, text and focus.
  private static let foundation = """
    :root {
      --s1: .25rem; --s2: .5rem; --s3: .75rem; --s4: 1rem; --s5: 1.5rem; --s6: 2rem; --s7: 3rem;
      --t1: .75rem; --t2: .875rem; --t3: 1rem; --t4: 1.25rem; --t5: 1.5rem;
      --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
      --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono", "DejaVu Sans Mono", monospace;
      --radius: 4px;
    }
    *, ::before, ::after { box-sizing: border-box; }
    [hidden] { display: none !important; }
    html { scrollbar-gutter: stable; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
    body { display: flex; flex-direction: column; min-height: 100vh; margin: 0; background: var(--paper);
      color: var(--ink); font: var(--t2)/1.45 var(--sans); font-variant-numeric: tabular-nums;
      overflow-wrap: break-word; }
    h1, h2, h3, p, ul, ol, dl, dd, figure, fieldset { margin: 0; padding: 0; }
    h1 { font-size: var(--t5); line-height: 1.25; font-weight: 600; overflow-wrap: anywhere; }
    h2 { font-size: var(--t3); line-height: 1.5; font-weight: 600; margin: 0 0 var(--s3); overflow-wrap: anywhere; }
    h3 { font-size: var(--t2); font-weight: 600; margin: var(--s4) 0 var(--s2); overflow-wrap: anywhere; }
    a { color: var(--accent); text-decoration: underline; text-decoration-thickness: 1px;
      text-underline-offset: .2em; }
    a:hover { text-decoration-thickness: 2px; }
    :is(nav, h1, .grid, .tree, .toolbar, .definitions, .title, svg) a:not(:hover) { text-decoration: none; }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
    main:focus { outline: none; }
    b, strong { font-weight: 600; }
    code, .code, kbd, pre { font-family: var(--mono); font-size: .9375em; font-variant-ligatures: none; }
    code { overflow-wrap: anywhere; }
    kbd { display: inline-block; min-width: 1.5rem; padding: 0 var(--s1); border: 1px solid var(--edge);
      border-radius: var(--radius); background: var(--paper); color: var(--muted); font-size: var(--t1);
      line-height: 1.25rem; text-align: center; }
    .muted, .missing, .hint { color: var(--muted); }
    .missing { font-style: italic; }
    .number { white-space: nowrap; }
    .hint { font-size: var(--t1); }
    .hidden, caption, .skip-link:not(:focus) { position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0;
      border: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    .script { visibility: hidden; }
    .scripted .script { visibility: visible; }

    """

  /// The header, the navigation and the position of the content.
  private static let frame = """
    .skip-link:focus { position: absolute; left: var(--s2); top: var(--s2); z-index: 9; padding: var(--s2) var(--s3);
      background: var(--paper); }
    .bar { background: var(--surface); border-bottom: 1px solid var(--line); }
    .frame { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2) var(--s5); }
    .frame, main, footer, .moment p { width: 100%; margin: 0;
      padding: var(--s2) max(var(--s5), 50% - 56rem + var(--s5)); }
    main { flex: 1; padding-block: var(--s4) var(--s6); }
    .identity { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s3); min-width: 0; }
    .identity .store { color: var(--ink); font-size: var(--t3); font-weight: 600; text-decoration: none;
      overflow-wrap: anywhere; }
    .identity .facts { color: var(--muted); font-size: var(--t1); overflow-wrap: anywhere; }
    .sections ul { display: flex; flex-wrap: wrap; gap: 0 var(--s1); list-style: none; }
    .sections a { display: block; padding: var(--s2) var(--s3); border-radius: var(--radius); color: var(--ink);
      line-height: 1rem; }
    .sections a:hover { background: var(--sunken); text-decoration: none; }
    .sections a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
    .find { display: flex; gap: var(--s2); margin-left: auto; }
    .find div { position: relative; }
    .find input { width: 15rem; padding-right: 2.25rem; }
    .find kbd { position: absolute; right: var(--s1); top: .3125rem; pointer-events: none; }
    .moment { background: var(--amber-soft); border-bottom: 1px solid var(--line); }
    .trail { display: flex; flex-wrap: wrap; gap: 0 var(--s2); list-style: none; margin-bottom: var(--s1); }
    .trail a { display: inline-block; line-height: 1.5rem; min-width: 1.5rem; }
    .trail li + li::before { content: "/" / ""; margin-right: var(--s2); color: var(--muted); }
    .head { display: flex; flex-wrap: wrap; align-items: end; justify-content: space-between;
      gap: var(--s2) var(--s5); margin-bottom: var(--s5); }
    footer { border-top: 1px solid var(--line); color: var(--muted); font-size: var(--t1); line-height: 1.5rem; }
    footer .muted { margin-right: var(--s3); }
    :is(main, section, [data-live], .columns > div, .foldable, .fold) > * + * { margin-top: var(--s4); }
    :is(main, section, [data-live], .columns > div) > * + section { margin-top: var(--s6); }
    nav + .head, .head + *, h2 + *, h3 + * { margin-top: 0 !important; }
    .toast { position: fixed; right: var(--s4); bottom: var(--s4); z-index: 8; max-width: calc(100vw - 2rem);
      padding: var(--s2) var(--s4); border: 1px solid var(--edge); border-radius: var(--radius);
      background: var(--paper); box-shadow: 0 2px 8px rgb(0 0 0 / .2); }
    .toast:empty { display: none; }
    dialog { max-width: 32rem; width: calc(100vw - 2rem); padding: var(--s5); border: 1px solid var(--edge);
      border-radius: 8px; background: var(--paper); color: var(--ink); }
    dialog::backdrop { background: rgb(0 0 0 / .4); }
    dialog dl { display: grid; grid-template-columns: max-content 1fr; gap: var(--s2) var(--s4);
      margin: var(--s3) 0 var(--s4); }
    dialog label { display: inline-flex; align-items: center; gap: var(--s2); font-weight: 400; }
    dialog form { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center;
      gap: var(--s3); }

    """

  private static let content = """
    .badge { display: inline-block; padding: 0 var(--s2); border-radius: 1rem; background: var(--sunken);
      color: var(--muted); font-size: var(--t1); line-height: 1.25rem; white-space: nowrap; }
    .badge.good, .badge.follow { background: var(--green-soft); color: var(--green); }
    .badge.share { background: var(--accent-soft); color: var(--accent); }
    .badge.warning { background: var(--amber-soft); color: var(--amber); }
    .badge.bad { background: var(--red-soft); color: var(--red); }
    .badge.skip { background: none; box-shadow: inset 0 0 0 1px var(--edge); }
    .definitions > div { display: grid; grid-template-columns: minmax(8rem, 14rem) minmax(0, 1fr);
      gap: 0 var(--s4); padding: var(--s1) 0; border-top: 1px solid var(--line); }
    .definitions > div:last-child { border-bottom: 1px solid var(--line); }
    .definitions { max-width: 60rem; }
    .definitions dt { color: var(--muted); overflow-wrap: anywhere; }
    .definitions dd { overflow-wrap: anywhere; }
    .figures { display: flex; flex-wrap: wrap; gap: var(--s4) var(--s6); }
    .figures dt { color: var(--muted); font-size: var(--t1); }
    .figures dd { font-size: var(--t4); line-height: 1.4; }
    .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
      gap: var(--s6); align-items: start; }
    .columns > div { min-width: 0; }
    .notice { max-width: 60rem; padding: var(--s2) var(--s4); border-left: 4px solid var(--accent);
      border-radius: var(--radius); background: var(--accent-soft); }
    .notice.warning { border-color: var(--amber); background: var(--amber-soft); }
    .notice.error { border-color: var(--red); background: var(--red-soft); }
    .empty { max-width: 60rem; padding: var(--s6) var(--s4); border: 1px dashed var(--edge);
      border-radius: var(--radius); color: var(--muted); text-align: center; }
    .empty strong { color: var(--ink); }
    .toolbar { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s3); list-style: none; }
    .toolbar a:not(.button) { display: inline-block; min-width: 1.5rem; line-height: 1.5rem; }
    .tabs ul { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s4); list-style: none;
      border-bottom: 1px solid var(--line); }
    .tabs a { display: block; padding: var(--s2) 0; margin-bottom: -1px; border-bottom: 2px solid transparent; }
    .tabs a[aria-current] { border-color: var(--accent); color: var(--ink); font-weight: 600; }
    .tree, .tree ul { list-style: none; }
    .foldable { overflow-x: auto; }
    .controls { display: flex; flex-wrap: wrap; gap: var(--s1); }
    .foldable > .tree { margin-top: var(--s2); }
    .tree ul { padding-left: .4375rem; }
    .tree li { position: relative; }
    .tree ul > li { padding-left: 1.25rem; }
    .tree ul > li::before, .tree ul > li::after { content: ""; position: absolute; left: 0; }
    .tree ul > li::before { top: 0; bottom: 0; border-left: 1px solid var(--edge); }
    .tree ul > li:last-child::before { bottom: auto; height: .875rem; }
    .tree ul > li::after { top: .875rem; width: .875rem; border-top: 1px solid var(--edge); }
    .tree summary { display: flex; width: max-content; max-width: 100%; list-style: none; cursor: pointer; }
    .tree summary::-webkit-details-marker { display: none; }
    .tree summary::before { content: "▸" / ""; flex: none; width: 1rem; color: var(--muted); line-height: 1.75rem; }
    .tree details[open] > summary::before { content: "▾" / ""; }
    .tree .node { display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s2); padding: .25rem 0;
      line-height: 1.25rem; }
    .fold > summary { width: max-content; max-width: 100%; line-height: 1.5rem; cursor: pointer; }
    .fold > summary + * { margin-top: var(--s2); }
    .definitions dd :is(ol, ul) { padding-left: 1.25rem; }
    .timeline { list-style: none; max-width: 60rem; }
    .timeline > li { position: relative; padding: 0 0 var(--s4) var(--s5); }
    .timeline > li::before { content: ""; position: absolute; left: .1875rem; top: .4375rem; width: .5625rem;
      height: .5625rem; border: 2px solid var(--accent); border-radius: 50%; background: var(--paper); z-index: 1; }
    .timeline > li[aria-current]::before { background: var(--accent); }
    .timeline > li:not(:last-child)::after { content: ""; position: absolute; left: .4375rem; top: .75rem;
      bottom: -.5rem; border-left: 1px solid var(--edge); }
    .timeline .title { font-weight: 600; overflow-wrap: anywhere; }
    .progress { max-width: 30rem; }
    .progress p { display: flex; justify-content: space-between; gap: var(--s4); }
    progress { display: block; width: 100%; height: .5rem; border: 0; border-radius: .25rem; overflow: hidden;
      appearance: none; background: var(--sunken); }
    progress::-webkit-progress-bar { background: var(--sunken); }
    progress::-webkit-progress-value { background: var(--accent); }
    progress::-moz-progress-bar { background: var(--accent); }
    progress:indeterminate, progress:indeterminate::-webkit-progress-bar { background:
      repeating-linear-gradient(135deg, var(--accent) 0 .5rem, var(--accent-soft) .5rem 1rem); }
    progress:indeterminate::-moz-progress-bar { background: none; }
    .progress + .progress { margin-top: var(--s3); }
    .lines { padding-left: 0; font: var(--t2)/1.5 var(--mono); border: 1px solid var(--line);
      border-radius: var(--radius); background: var(--surface); counter-reset: none; list-style-position: outside; }
    .lines li { margin-left: 5ch; padding: 0 var(--s3); white-space: pre-wrap; overflow-wrap: anywhere;
      border-left: 1px solid var(--line); background: var(--paper); min-height: 1.5em; }
    .lines li::marker { color: var(--muted); font-size: var(--t1); }

    """

  private static let controls = """
    input, select, textarea, button, .button { font: inherit; color: inherit; }
    input:not([type=checkbox], [type=radio]), select, textarea { height: 2rem; max-width: 100%; margin: 0;
      padding: .3125rem var(--s2); border: 1px solid var(--edge); border-radius: var(--radius);
      background: var(--paper); }
    textarea { height: auto; }
    input.code { font-family: var(--mono); }
    input[type=number] { width: 7rem; }
    input[type=checkbox], input[type=radio] { width: 1rem; height: 1rem; margin: 0; flex: none;
      accent-color: var(--accent); }
    ::placeholder { color: var(--muted); opacity: 1; }
    [aria-invalid] { border-color: var(--red) !important; }
    .problem { color: var(--red); }
    .button { display: inline-flex; align-items: center; justify-content: center; min-height: 2rem;
      padding: 0 var(--s3); border: 1px solid var(--edge); border-radius: var(--radius); background: var(--paper);
      color: var(--ink); line-height: 1.25rem; text-decoration: none; white-space: nowrap; cursor: pointer; }
    .button:hover { background: var(--sunken); text-decoration: none; }
    .button.small { min-height: 1.5rem; min-width: 1.5rem; padding: 0 var(--s2); font-size: var(--t1); }
    .button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
    .button.danger { border-color: var(--red); background: var(--red); color: var(--on-accent); }
    .button.off { border-color: var(--line); color: var(--muted); background: none; cursor: default; }
    .row { display: flex; flex-wrap: wrap; align-items: end; gap: var(--s2) var(--s3); }
    .stack { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--s4); justify-items: start; }
    .stack > * { max-width: 100%; }
    .field { display: grid; gap: var(--s1); min-width: 0; }
    label, legend { font-weight: 600; }
    legend { padding: 0; margin-bottom: var(--s1); }
    fieldset { border: 0; min-width: 0; }
    .checkboxes label { display: inline-flex; align-items: center; gap: var(--s2); min-height: 1.75rem;
      margin-right: var(--s4); font-weight: 400; }
    .predicate .row { margin-top: var(--s1); }
    .predicate input[list] { flex: 1 1 16rem; max-width: 48rem; min-width: 0; }
    .predicate .problem { margin-top: var(--s2); }
    .pager { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s2); }
    .pager p { margin-right: var(--s4); color: var(--muted); }

    """
}
