import KVClone

/// The frame of a page about a store.
enum PageShell {
  static func document(_ page: any Page, _ context: PageContext) -> HTML {
    var frame = frame(page.title, section: page.section, context)
    frame.trail = page.breadcrumbs(context).map { PageFrame.Link(title: $0.name, target: $0.link) }
    frame.formats = [PageFormat.json, .csv].map {
      PageFrame.Link(title: $0.rawValue.uppercased(), target: context.link(as: $0))
    }
    frame.address = context.link(as: .html)
    return frame.document(page.html(context))
  }

  /// A frame without a place and formats.
  ///
  /// - Parameter section: of the navigation; nil for a page outside of all, such as an error.
  static func frame(_ title: String, section: PageSection?, _ context: PageContext) -> PageFrame {
    let store = context.store
    var frame = PageFrame(
      title: title, base: context.options.basePath,
      assets: PageFrame.Assets(
        stylesheet: context.link(to: .stylesheet), script: context.link(to: .script), icon: context.link(to: .icon)),
      store: PageFrame.Link(title: name(of: store), target: context.link([])),
      facts: [context.model.name, store.engine.productName, shown(context)]
        .filter { !$0.isEmpty })
    frame.sections = PageSection.allCases.map {
      let path = $0.path.split(separator: "/").map(String.init)
      return PageFrame.Section(
        link: PageFrame.Link(title: $0.rawValue, target: context.link(path)),
        key: String($0.rawValue.prefix(1)).lowercased(), isCurrent: $0 == section)
    }
    let isWhole = section == .store || section == .branches || (section == .time && context.branchName == nil)
    frame.showsMoment = !isWhole
    frame.moment = context.snapshotName.map {
      PageFrame.Link(title: $0, target: context.link(replacing: [("at", nil)]))
    }
    frame.isBase = context.snapshotName == StateName.base
    frame.branch = context.branchName.map {
      PageFrame.Link(title: $0, target: context.link(replacing: [("branch", nil), ("at", nil)]))
    }
    frame.events = context.snapshotName == nil ? context.link(["events"]) : nil
    frame.allowsWrites = context.options.allowsWrites
    return frame
  }

  /// The kind of the state, among the facts of the page.
  private static func shown(_ context: PageContext) -> String {
    if context.snapshotName != nil { return "snapshot" }
    return context.branchName == nil ? "present" : "branch"
  }

  /// The last part of the store's path or URL, without a query.
  private static func name(of store: ObjectStore) -> String {
    let path = store.path.prefix { $0 != "?" }
    return path.split(separator: "/").last.map(String.init) ?? store.path
  }
}
