import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Components escape their texts, and have the names and roles that screen readers need.
@Suite(.bounded) struct ComponentsTests {
  private static let hostile = "<img src=x onerror=alert(1)>\"'"

  @Test(arguments: [
    Components.link(hostile, hostile), Components.badge(hostile), Components.code(hostile), Components.muted(hostile),
    Components.time(hostile), Components.definitions([(hostile, "\(hostile)")]), Components.section(hostile, .empty),
    Components.figures([(hostile, "\(hostile)")]), Components.live(hostile, .empty), Components.notice(hostile),
    Components.empty(hostile), Components.toolbar([], label: hostile),
    Components.tabs(hostile, [(hostile, hostile, true)]),
    Components.table(hostile, columns: [Components.Column("\(hostile)", sortTarget: hostile)], rows: [["\(hostile)"]]),
    Components.pager("\(hostile)", first: hostile, previous: hostile, next: hostile),
    Components.comparison(hostile, old: hostile, new: hostile, rows: [("\(hostile)", nil, "\(hostile)")]),
    Components.button(hostile), Components.buttonLink(hostile, hostile), Components.hidden([(hostile, hostile)]),
    Components.field(hostile, name: "name", value: hostile, placeholder: hostile, hint: hostile),
    Components.select(hostile, name: "name", options: [(hostile, hostile)], selected: hostile),
    Components.checkboxes(hostile, name: hostile, options: [(hostile, "\(hostile)", true)]),
    Components.predicateBar(
      target: hostile, value: hostile, kept: [(hostile, hostile)], words: [hostile], history: hostile,
      problem: hostile),
    Components.tree(hostile, [Components.TreeNode("\(hostile)")]), Components.details(hostile, .empty),
    Components.image(hostile, alternative: hostile, target: hostile), Components.drawing(hostile, .empty),
    Components.diagram(hostile, .empty), Components.legend([(hostile, "share")]),
    Components.timeline(hostile, [Components.Moment(time: hostile, title: "\(hostile)")]),
    Components.progress(hostile, done: 1, total: 2), Components.lines(hostile, [hostile]),
    Components.hex(hostile, Array(hostile.utf8)),
  ])
  func textsCannotBecomeMarkup(html: HTML) {
    #expect(!html.text.contains("<img src=x"))
    #expect(!html.text.contains("\"'"))
  }

  @Test func sortedColumnHasItsOrderForScreenReaders() {
    let columns = [
      Components.Column("name", order: .descending, sortTarget: "/entities/Note?sort=name"),
      Components.Column("rating"),
    ]
    let text = Components.table("Notes", columns: columns, rows: [["a", "1"]]).text
    #expect(text.contains("<th scope=\"col\" aria-sort=\"descending\"><a class=\"sort\""))
    #expect(text.contains("<th scope=\"col\">rating</th>"))
    #expect(text.contains("<th scope=\"row\">a</th><td>1</td>"))
  }

  @Test func scrollingTableCanBeReachedWithTheKeyboardAndHasAName() {
    let text = Components.table("Notes", columns: [Components.Column("name")], rows: []).text
    #expect(text.contains("role=\"region\" aria-label=\"Notes\" tabindex=\"0\""))
  }

  @Test func pagerWithoutAPageHasNoLinkToIt() {
    let text = Components.pager("1–2 of 2").text
    #expect(!text.contains("<a "))
    #expect(text.contains("aria-disabled=\"true\">Next</span>"))
    #expect(Components.pager("3–4", previous: "/p", next: nil).text.contains("href=\"/p\" rel=\"prev\""))
  }

  @Test(arguments: [(0, 0, "0"), (8, 16, "50"), (1, 0, "0"), (-5, 2, "0"), (3, 2, "100"), (1, 3, "33.33")])
  func barStaysWithinItsTrack(part: Double, whole: Double, width: String) {
    #expect(Components.bar(part / whole).text.contains("class=\"fill\" width=\"\(width)\""))
  }

  @Test func hexShowsOffsetsBytesAndCharacters() {
    let text = Components.hex("record", [UInt8](0x38...0x48) + [0, 0xFF], start: 16).text
    #expect(text.contains("00000010</th><td>38 39 3a 3b 3c 3d 3e 3f  40 41 42 43 44 45 46 47</td>"))
    #expect(text.contains("<td>89:;&lt;=&gt;?@ABCDEFG</td>"))
    #expect(text.contains("00000020</th><td>48 00 ff</td><td>H··</td>"))
  }

  private let assets = PageFrame.Assets(stylesheet: "/s.css?v=1", script: "/s.js?v=1", icon: "/i.svg?v=1")

  @Test func snapshotIsKeptByTheSearchAndHasNoLiveUpdates() {
    var frame = PageFrame(
      title: "Note", base: "/x", assets: assets, store: .init(title: "s", target: "/x/"), facts: ["Model"])
    frame.moment = .init(title: "a&b", target: "/x/?y=1")
    let text = frame.document("content").text
    #expect(text.contains("<input type=\"hidden\" name=\"at\" value=\"a&amp;b\">"))
    #expect(text.contains("<form class=\"find\" action=\"/x/find\""))
    #expect(!text.contains("data-events"))
    frame.moment = nil
    frame.events = "/x/events"
    #expect(frame.document("content").text.contains("<body data-events=\"/x/events\">"))
  }

  @Test func frameHasOneHeadingAndNamedLandmarks() {
    var frame = PageFrame(
      title: "Note", base: "", assets: assets, store: .init(title: "s", target: "/"), facts: [])
    frame.sections = [.init(link: .init(title: "Time", target: "/time"), key: "t", isCurrent: true)]
    frame.trail = [.init(title: "Entities", target: "/")]
    let text = frame.document("").text
    #expect(text.split(separator: "<h1>").count == 2)
    #expect(text.contains("<script src=\"/s.js?v=1\" defer></script>"))
    for landmark in [
      "<nav class=\"sections\" aria-label=\"Sections\">", "<nav aria-label=\"Breadcrumbs\">", "<main id",
    ] {
      #expect(text.contains(landmark), "\(landmark)")
    }
    #expect(text.contains("<a href=\"/time\" data-key=\"t\" aria-current=\"page\">Time</a>"))
    #expect(!text.contains(" style=") && !text.contains("<style") && !text.contains("onclick"))
  }
}
