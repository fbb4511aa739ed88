// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/texts"
)

// liveView returns the view of a target with a name, if its content follows a feed.
func (s *site) liveView(target *targetView, name string) (liveView, bool) {
	view := liveView{feed: target.Path, run: s.follow(target.Target)}
	of := func(template string, content func(snapshot *views.Snapshot, query url.Values) any) {
		view.content = func(value any, query url.Values) (string, any) {
			snapshot, _ := value.(*views.Snapshot)
			if !snapshot.Exists() {
				return "absent", target
			}
			return template, content(snapshot, query)
		}
	}
	switch name {
	case "tree":
		of("tree", func(snapshot *views.Snapshot, query url.Values) any {
			return struct {
				treeView
				Job *job
				*site
				Target *targetView
			}{treeOf(snapshot, query, time.Now()), s.jobs.of(target.Path), s, target}
		})
	case "timeline":
		of("timeline", func(snapshot *views.Snapshot, _ url.Values) any { return timelineOf(snapshot, time.Now()) })
	case "history":
		of("history", func(snapshot *views.Snapshot, _ url.Values) any {
			revisions := slices.Clone(snapshot.Release.Revisions)
			slices.Reverse(revisions)
			return struct {
				*site
				Target    *targetView
				Revisions []releases.Revision
			}{s, target, revisions}
		})
	case "events":
		of("events", func(snapshot *views.Snapshot, _ url.Values) any {
			events := slices.Clone(snapshot.Events)
			slices.SortStableFunc(events, func(a, b live.Event) int { return b.Time.Compare(a.Time) })
			return struct {
				Events []live.Event
				Notes  []string
			}{events[:min(len(events), maxEvents)], display.Map(snapshot.Notes, display.Note.String)}
		})
	default:
		return liveView{}, false
	}
	return view, true
}

// follow is the source of the snapshots of a target.
func (s *site) follow(target views.Target) source {
	return func(ctx context.Context, tell func(value any, trouble string)) error {
		return views.Follow(ctx, s.Connection, views.Following{
			Target: target, AllSets: true, Reasons: live.MainReasons, Events: true,
			Show:    func(snapshot *views.Snapshot) bool { tell(snapshot, ""); return false },
			Trouble: func(err error) { tell(nil, err.Error()) },
		})
	}
}

// maxEvents is how many events a page shows.
const maxEvents = 500

// content returns the template and the content of a page that does not change by itself.
func (s *site) content(r *http.Request, target *targetView, name string) (string, any, error) {
	switch name {
	case "logs":
		return "logs", r.URL.Query().Get("object"), nil
	case "drift":
		content, err := s.drift(r.Context(), target)
		return "drift", content, err
	default:
		content, err := s.recorded(r, target, name)
		return "document", content, err
	}
}

// driftView is the content of the page about drift.
type driftView struct {
	*site
	Target      *targetView
	Text        template.HTML
	Correctable bool
}

// drift compares a release with the cluster.
func (s *site) drift(ctx context.Context, target *targetView) (driftView, error) {
	view := driftView{site: s, Target: target}
	p, err := operation.PlanCurrent(ctx, s.Connection, target.Namespace, target.Name, true)
	if err != nil {
		return view, err
	}
	defer p.Close()
	drift := p.Drift()
	if len(drift) == 0 {
		view.Text = ansiToHTML(fmt.Sprintf("%s has not drifted from revision %d", target.Target, p.Revision.Number))
		return view, nil
	}
	var text bytes.Buffer
	if err := p.WriteDrift(&text, drift, false, display.DiffOptions{Style: style}); err != nil {
		return view, err
	}
	view.Text, view.Correctable = ansiToHTML(text.String()), slices.ContainsFunc(drift, operation.Drift.IsCorrectable)
	return view, nil
}

// documentView is a part of a revision.
type documentView struct {
	Title, Text string
	// Note is about what is left out.
	Note string
}

// maxObjects is how many objects of a manifest a page shows.
const maxObjects = 500

// recorded returns the values or the manifest of a revision, with the values of Secrets masked.
func (s *site) recorded(r *http.Request, target *targetView, part string) (documentView, error) {
	release, err := s.Connection.Release(r.Context(), target.Namespace, target.Name)
	if err != nil {
		return documentView{}, err
	}
	number, _ := strconv.ParseInt(r.URL.Query().Get("revision"), 10, 64)
	if current := release.Current(); number == 0 && current != nil {
		number = current.Number
	}
	content, err := s.Connection.Records().Content(r.Context(), release, number)
	if err != nil {
		return documentView{}, err
	}
	view := documentView{Title: fmt.Sprintf("Revision %d", number)}
	if part == "values" {
		view.Note = fmt.Sprintf("Values that are part of a Secret of this revision are masked. To see all: clm get values %s -n %s --revision %d", target.Name, target.Namespace, number)
		view.Text, err = withoutSecrets(content)
		return view, err
	}
	if more := len(content.Manifest) - maxObjects; more > 0 {
		view.Note = fmt.Sprintf("%d more objects are not shown. To see all: clm get manifest %s -n %s --revision %d", more, target.Name, target.Namespace, number)
		content.Manifest = content.Manifest[:maxObjects]
	}
	for _, object := range content.Manifest {
		text, err := yaml.Marshal(texts.Secret(object.Object, func(string) any { return texts.Mark }))
		if err != nil {
			return view, fmt.Errorf("encoding %s: %w", display.Text(object), err)
		}
		view.Text += "---\n" + string(text)
	}
	return view, nil
}

// withoutSecrets returns the values of a revision as YAML, and masks those that are part of a Secret.
func withoutSecrets(content releases.Content) (string, error) {
	var secrets []string
	for _, object := range content.Manifest {
		texts.Secret(object.Object, func(value string) any {
			secrets = append(secrets, value)
			return value
		})
	}
	isSecret := func(value string) bool {
		return slices.ContainsFunc(secrets, func(secret string) bool { return sharesText(value, secret) })
	}
	text, err := yaml.Marshal(masked(content.Values, isSecret))
	return string(text), err
}

// sharesText reports whether a value and a secret are equal, or one has a line of the other, which must be long enough not
// to be part of other texts, too.
func sharesText(value, secret string) bool {
	value, secret = strings.TrimSpace(value), strings.TrimSpace(secret)
	if value == "" || secret == "" {
		return false
	}
	has := func(whole, part string) bool {
		quoted := strconv.Quote(part)
		return len(part) >= texts.ShortestSecret && (strings.Contains(whole, part) || strings.Contains(whole, quoted[1:len(quoted)-1]))
	}
	for line := range strings.Lines(value) {
		if has(secret, strings.TrimSpace(line)) {
			return true
		}
	}
	return value == secret || has(value, secret)
}

// masked returns a value with the texts and numbers in it that are secret masked.
func masked(value any, isSecret func(value string) bool) any {
	switch value := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, element := range value {
			copied[key] = masked(element, isSecret)
		}
		return copied
	case []any:
		return display.Map(value, func(element any) any { return masked(element, isSecret) })
	case nil, bool:
		return value
	default:
		if isSecret(fmt.Sprint(value)) {
			return texts.Mark
		}
		return value
	}
}

// logLines is how many lines of each container a page of logs begins with.
const logLines = 50

// streamLogs streams the logs of a target, or of an object of it.
func (s *site) streamLogs(w http.ResponseWriter, r *http.Request, target *targetView) {
	out := newEvents(w)
	options, err := views.Inspect(r.Context(), s.Connection, target.Target)
	var chosen *runner.Choice
	if err == nil {
		var objects []string
		if object := r.URL.Query().Get("object"); object != "" {
			objects = append(objects, object)
		}
		chosen, err = runner.Choose(s.Connection.Client(), objects, options.Items, runner.Scope{Name: target.String(), Show: target.Command("tree")})
	}
	if err == nil {
		_ = out.tellState("")
		err = live.Logs(r.Context(), live.LogOptions{
			Options: options, Follow: true, Tail: new(int64(logLines)), Select: chosen.Has, Problem: func(text string) { _ = out.send("line", text) },
		}, lineWriter{out})
	}
	switch {
	case r.Context().Err() != nil:
	case isFinal(err):
		_ = out.send("end", err.Error())
	case err != nil:
		_ = out.tellState(err.Error())
	}
}

// lineWriter sends each line that is written.
type lineWriter struct{ out *events }

// Write implements io.Writer.
func (l lineWriter) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if err := l.out.send("line", display.Clean(line)); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
