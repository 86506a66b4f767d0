extension Components {
  /// A button that sends its form.
  ///
  /// - Parameters:
  ///   - kind: `primary`, at most once a form, `danger`, or empty.
  ///   - item: of the form, which only this button sends.
  static func button(_ title: String, _ kind: String = "", item: (name: String, value: String)? = nil) -> HTML {
    let item: HTML? = item.map { " name=\"\($0.name)\" value=\"\($0.value)\"" }
    return "<button type=\"submit\" class=\"button \(kind)\"\(item)>\(title)</button>"
  }

  /// A link in the shape of a button.
  static func buttonLink(_ title: String, _ target: String, _ kind: String = "") -> HTML {
    "<a class=\"button \(kind)\" href=\"\(target)\">\(title)</a>"
  }

  /// A form that is only its button: an action.
  static func action(
    _ title: String, _ target: String, _ items: [(name: String, value: String)] = [], _ kind: String = ""
  ) -> HTML {
    "<form action=\"\(target)\" method=\"post\">\(hidden(items))\(button(title, kind))</form>"
  }

  /// Items of a query that a form keeps.
  static func hidden(_ items: [(name: String, value: String)]) -> HTML {
    HTML(items.map { "<input type=\"hidden\" name=\"\($0.name)\" value=\"\($0.value)\">" })
  }

  /// A text field with its label.
  ///
  /// - Parameters:
  ///   - type: of the input: `text`, `search`, `number` or `datetime-local`.
  ///   - hint: below the field, and its description for screen readers.
  ///   - hasLines: whether the text can have several lines.
  static func field(
    _ label: String, name: String, value: String = "", type: String = "text", placeholder: String = "",
    hint: String? = nil, isMonospaced: Bool = false, hasLines: Bool = false
  ) -> HTML {
    let description: HTML? = hint.map { _ in " aria-describedby=\"hint-\(name)\"" }
    let names: HTML = "id=\"field-\(name)\" name=\"\(name)\""
    let rowCount = min(10, value.count { $0.isNewline } + 1)
    let attributes: HTML = """
      placeholder="\(placeholder)"\
      \(isMonospaced ? " class=\"code\" spellcheck=\"false\" autocapitalize=\"off\"" as HTML : "") autocomplete="off"\
      \(description)
      """
    // A parser of HTML ignores a line break at the beginning of the text.
    let field: HTML =
      hasLines
      ? "<textarea \(names) \(attributes) rows=\"\(rowCount)\">\n\(HTML.lines(value))</textarea>"
      : "<input \(names) type=\"\(type)\" value=\"\(value)\" \(attributes)>"
    return """
      <div class="field"><label for="field-\(name)">\(label)</label>\(field)\
      \(hint.map { "<p class=\"hint\" id=\"hint-\(name)\">\($0)</p>" as HTML })</div>
      """
  }

  /// A choice of one option.
  static func select(_ label: String, name: String, options: [(value: String, title: String)], selected: String?)
    -> HTML
  {
    var html: HTML = """
      <div class="field"><label for="field-\(name)">\(label)</label><select id="field-\(name)" name="\(name)">
      """
    for option in options {
      let selection: HTML = option.value == selected ? " selected" : ""
      html += "<option value=\"\(option.value)\"\(selection)>\(option.title)</option>"
    }
    return html + "</select></div>"
  }

  /// A choice of several options.
  static func checkboxes(
    _ legend: String, name: String, options: [(value: String, title: HTML, isChecked: Bool)]
  ) -> HTML {
    choices(legend, name: name, type: "checkbox", options: options)
  }

  /// A choice of one option, all of which are visible.
  static func radios(
    _ legend: String, name: String, options: [(value: String, title: HTML, isChecked: Bool)]
  ) -> HTML {
    choices(legend, name: name, type: "radio", options: options)
  }

  private static func choices(
    _ legend: String, name: String, type: String, options: [(value: String, title: HTML, isChecked: Bool)]
  ) -> HTML {
    var html: HTML = "<fieldset class=\"checkboxes\"><legend>\(legend)</legend>"
    for option in options {
      let check: HTML = option.isChecked ? " checked" : ""
      html += """
        <label><input type="\(type)" name="\(name)" value="\(option.value)"\(check)>\
        <span>\(option.title)</span></label>
        """
    }
    return html + "</fieldset>"
  }

  /// A field for a predicate, in a form of method GET.
  ///
  /// The script completes the last word from `words`, and offers the latest predicates of `history`; `/` focuses the
  /// field.
  /// - Parameters:
  ///   - target: the path of the page that shows the matches.
  ///   - kept: items of the query that the form keeps, such as `sort`.
  ///   - words: names of properties, and operators.
  ///   - history: a name for the list of earlier predicates, such as that of the entity.
  ///   - actions: more buttons, such as one for `explain`.
  static func predicateBar(
    target: String, name: String = "where", value: String, kept: [(name: String, value: String)] = [],
    words: [String], history: String, problem: String? = nil, actions: HTML = .empty
  ) -> HTML {
    let description: HTML? = problem.map { _ in " aria-invalid=\"true\" aria-describedby=\"problem-\(name)\"" }
    var html: HTML = """
      <form class="predicate" action="\(target)" method="get" role="search" aria-label="Predicate">\(hidden(kept))\
      <label for="predicate">Predicate</label><div class="row">\
      <input id="predicate" name="\(name)" type="text" value="\(value)" class="code" list="predicate-words"\
       placeholder="name CONTAINS[cd] &quot;text&quot;" autocomplete="off" autocapitalize="off" spellcheck="false"\
       data-search data-complete data-history="\(history)"\(description)>\
      <button type="submit" class="button primary">Filter</button>\(actions)</div><datalist id="predicate-words">
      """
    for word in words { html += "<option value=\"\(word)\"></option>" }
    html += "</datalist>"
    if let problem { html += "<p class=\"problem\" id=\"problem-\(name)\">\(problem)</p>" }
    return html + "</form>"
  }
}
