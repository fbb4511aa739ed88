// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependents

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/terminal"
	"github.com/component-operator/runtime/pkg/status"
)

// WriteOptions say how to print nodes.
type WriteOptions struct {
	// Color marks what is ready, what is not yet, and what has failed.
	Color bool
	// Width is the number of columns that messages and reasons have to fit in. Defaults to no limit.
	Width int
	// Why adds the reasons below the objects.
	Why bool
	// Flat leaves out what the dependents own; its reasons stand below the dependent. Defaults to the whole tree.
	Flat bool
	// Clock tells ages. Defaults to the real time.
	Clock clock.PassiveClock
}

// minMessage is the width that a message keeps, however narrow the terminal is.
const minMessage = 20

// Write prints nodes as a table whose first column is a tree.
func Write(w io.Writer, nodes []*Node, options WriteOptions) error {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	p := &printer{WriteOptions: options, now: options.Clock.Now(), rows: []row{{name: "OBJECT", status: "STATUS", age: "AGE", message: "MESSAGE"}}}
	for _, node := range nodes {
		p.add(node, node.Object.String(), "", "")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

type printer struct {
	WriteOptions
	now  time.Time
	rows []row
}

// row is a line of the table, or, if it has a reason, a line below one.
type row struct {
	name, status, age, message string
	verdict                    status.Status
	// reason stands behind guides, which continue the tree.
	guides, reason string
}

// add prints a node behind the given branch, and below it whatever it has behind the given guides.
func (p *printer) add(node *Node, title, branch, guides string) {
	p.rows = append(p.rows, row{
		name: branch + terminal.Clean(title), status: node.Status.String(), age: Age(node.Created, p.now), message: node.Message, verdict: node.Status,
	})
	children := node.Children
	if p.Flat {
		children = nil
	}
	below := guides + "   "
	if len(children) > 0 {
		below = guides + "│  "
	}
	if p.Why {
		for _, text := range p.reasons(node) {
			p.rows = append(p.rows, row{guides: below, reason: text, verdict: node.Status})
		}
	}
	for i, child := range children {
		childTitle := child.Object.Kind + " " + child.Object.Name
		if i < len(children)-1 {
			p.add(child, childTitle, guides+"├─ ", guides+"│  ")
		} else {
			p.add(child, childTitle, guides+"└─ ", guides+"   ")
		}
	}
}

// maxFlatReasons is the number of reasons that a dependent shows for all that it owns.
const maxFlatReasons = 5

func (p *printer) reasons(node *Node) []string {
	var texts []string
	for _, reason := range node.Why {
		texts = append(texts, p.text(reason))
	}
	if !p.Flat {
		return texts
	}
	texts = append(texts, p.reasonsBelow(node)...)
	if more := len(texts) - maxFlatReasons; more > 0 {
		texts = append(texts[:maxFlatReasons], fmt.Sprintf("… and %d more", more))
	}
	return texts
}

// reasonsBelow names the objects, but says only once what is the same for several of them.
func (p *printer) reasonsBelow(node *Node) []string {
	type group struct {
		Reason
		first string
		more  int
	}
	var groups []*group
	byText := map[string]*group{}
	add := func(object Object, reason Reason) {
		if same := byText[reason.Text]; same != nil {
			same.more++
			same.Count += reason.Count
			if reason.Since.Before(same.Since) {
				same.Since = reason.Since
			}
			return
		}
		byText[reason.Text] = &group{Reason: reason, first: terminal.Clean(object.Kind + " " + object.Name)}
		groups = append(groups, byText[reason.Text])
	}
	for _, child := range node.Children {
		child.Walk(func(below *Node) {
			for _, reason := range below.Why {
				add(below.Object, reason)
			}
			if len(below.Why) == 0 && len(below.Children) == 0 && !below.IsReady() && below.Message != "" {
				add(below.Object, Reason{Text: below.Message})
			}
		})
	}
	texts := make([]string, len(groups))
	for i, group := range groups {
		if group.more > 0 {
			group.first += fmt.Sprintf(" and %d more", group.more)
		}
		texts[i] = group.first + ": " + p.text(group.Reason)
	}
	return texts
}

// text adds to a reason how often and since when.
func (p *printer) text(reason Reason) string {
	var details []string
	if reason.Count > 1 {
		details = append(details, fmt.Sprintf("%d times", reason.Count))
	}
	if !reason.Since.IsZero() {
		details = append(details, "since "+Age(reason.Since, p.now))
	}
	if len(details) == 0 {
		return reason.Text
	}
	return reason.Text + " (" + strings.Join(details, ", ") + ")"
}

// String aligns the rows.
func (p *printer) String() string {
	var names, statuses, ages int
	for _, row := range p.rows {
		names, statuses, ages = max(names, terminal.Width(row.name)), max(statuses, len(row.status)), max(ages, len(row.age))
	}
	const gap = 2
	indent := names + statuses + ages + 3*gap
	var text strings.Builder
	for _, row := range p.rows {
		if row.reason != "" {
			p.writeReason(&text, row)
			continue
		}
		message := row.message
		if p.Width > 0 {
			message = terminal.Truncate(message, max(p.Width-indent, minMessage))
		}
		line := terminal.Pad(row.name, names+gap) + p.paint(terminal.Pad(row.status, statuses+gap), row.verdict) + terminal.Pad(row.age, ages+gap) + message
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// writeReason wraps a reason between words, since its end is often what matters.
func (p *printer) writeReason(text *strings.Builder, row row) {
	const hanging = "  "
	lines := []string{row.reason}
	if p.Width > 0 {
		lines = terminal.Wrap(row.reason, max(p.Width-terminal.Width(row.guides+hanging), minMessage))
	}
	for i, line := range lines {
		if i > 0 {
			line = hanging + line
		}
		text.WriteString(row.guides + p.paint(line, row.verdict) + "\n")
	}
}

func (p *printer) paint(text string, verdict status.Status) string {
	style := terminal.Style(p.Color)
	switch verdict {
	case "":
		return text
	case status.CurrentStatus, StatusCompleted:
		return style.Green(text)
	case status.FailedStatus, status.NotFoundStatus, StatusStolen:
		return style.Red(text)
	case status.InProgressStatus, status.TerminatingStatus, status.UnknownStatus:
	}
	return style.Yellow(text)
}
