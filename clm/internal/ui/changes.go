// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
)

// plans holds the plans that were shown and can still be applied.
type plans struct {
	mu   sync.Mutex
	byID map[string]*shownPlan
}

// shownPlan is a plan that was shown. It can be applied once.
type shownPlan struct {
	ID, Title, Confirm string
	Target             *targetView
	Text               template.HTML
	// Refusal is why it cannot be applied; empty if it can.
	Refusal string
	// NameRequired means that the user has to enter the name of the release.
	NameRequired bool

	made   time.Time
	expiry *time.Timer
	job    *job
	apply  func(ctx context.Context) error
	close  func()
}

const (
	// planLifetime is how long a plan is kept. A kept plan watches the dependents, and becomes outdated.
	planLifetime = 15 * time.Minute
	// maxPlans is how many plans are kept.
	maxPlans = 16
)

// add keeps a plan, instead of the oldest one if there are too many.
func (p *plans) add(added *shownPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byID == nil {
		p.byID = map[string]*shownPlan{}
	}
	if len(p.byID) >= maxPlans {
		oldest := slices.MinFunc(slices.Collect(maps.Values(p.byID)), func(a, b *shownPlan) int { return a.made.Compare(b.made) })
		p.removeLocked(oldest).close()
	}
	added.ID, added.made = rand.Text(), time.Now()
	p.byID[added.ID] = added
	added.expiry = time.AfterFunc(planLifetime, func() {
		if expired := p.take(added.ID); expired != nil {
			expired.close()
		}
	})
}

// find returns a plan; nil if there is none.
func (p *plans) find(id string) *shownPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id]
}

// take returns a plan, and forgets it. The caller closes it.
func (p *plans) take(id string) *shownPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.byID[id]; found != nil {
		return p.removeLocked(found)
	}
	return nil
}

func (p *plans) removeLocked(removed *shownPlan) *shownPlan {
	removed.expiry.Stop()
	delete(p.byID, removed.ID)
	return removed
}

func (p *plans) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, plan := range p.byID {
		p.removeLocked(plan).close()
	}
}

// job is an operation that was started on these pages. It is the printer of the operation.
type job struct {
	wake func()

	mu sync.Mutex
	// class is the color of the texts: yellow while the operation runs, then green or red.
	class string
	texts []string
	ended time.Time
}

func (j *job) set(class string, texts ...string) {
	j.mu.Lock()
	j.class, j.texts, j.ended = class, texts, time.Now()
	j.mu.Unlock()
	j.wake()
}

// Update implements display.Printer.
func (j *job) Update(state display.Progress) {
	j.set("yellow", state.Operation+": "+state.Phase, state.Message)
}

// Finish implements display.Printer.
func (j *job) Finish(outcome display.Outcome) {
	class := "red"
	if outcome.Done {
		class = "green"
	}
	j.set(class, append([]string{outcome.Summary, outcome.Next}, outcome.Notes...)...)
}

// end is called when the operation has returned. Some errors were not shown by then.
func (j *job) end(err error) {
	if err != nil && !j.isOver() {
		j.set("red", err.Error())
	}
}

// Class returns the color of the texts.
func (j *job) Class() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.class
}

// Texts returns what the operation is doing, or how it has ended.
func (j *job) Texts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.texts
}

func (j *job) isOver() bool { return j.Class() == "green" || j.Class() == "red" }

// isOld reports whether the operation ended a while ago.
func (j *job) isOld() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.class != "yellow" && time.Since(j.ended) > outcomeLifetime
}

// outcomeLifetime is how long a page shows how an operation has ended: others may change the release afterwards.
const outcomeLifetime = time.Minute

// jobs are the last operations on targets that were started on these pages.
type jobs struct {
	ctx     context.Context //nolint:containedctx // operations end with the server
	running sync.WaitGroup

	mu      sync.Mutex
	current map[string]*job // by the paths of targets
}

// of returns the last operation on a target; nil if there is none, or if it ended a while ago.
func (j *jobs) of(path string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	if current := j.current[path]; current != nil && !current.isOld() {
		return current
	}
	return nil
}

// start applies a plan, and closes it. The operation is interrupted when the server stops.
func (j *jobs) start(plan *shownPlan) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if current := j.current[plan.Target.Path]; current != nil && !current.isOver() {
		plan.close()
		return releases.Refused("another operation that was started on these pages is still running on %s; when it has ended, make another plan", plan.Target.Target)
	}
	j.current[plan.Target.Path] = plan.job
	j.running.Go(func() {
		defer plan.close()
		plan.job.end(plan.apply(j.ctx))
	})
	return nil
}

// makePlan makes a plan, and shows it.
func (s *site) makePlan(w http.ResponseWriter, r *http.Request) {
	target, err := s.target(r)
	if err == nil && target.Mapping != nil {
		err = releases.Refused("%s: its operator changes it; clm changes only releases", target.Target)
	}
	if err == nil {
		err = r.ParseMultipartForm(maxBody)
	}
	var plan *shownPlan
	if err == nil || errors.Is(err, http.ErrNotMultipart) {
		plan, err = s.plan(r, target)
	}
	if err != nil {
		s.fail(w, codeOf(err), err)
		return
	}
	s.plans.add(plan)
	http.Redirect(w, r, s.Root+"/plans/"+plan.ID, http.StatusSeeOther)
}

// codeOf returns the status code for an error.
func codeOf(err error) int {
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	_, refused := errors.AsType[*releases.RefusedError](err)
	switch {
	case tooLarge:
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, releases.ErrNotFound):
		return http.StatusNotFound
	case refused, releases.IsChanged(err):
		return http.StatusConflict
	default:
		return http.StatusInternalServerError
	}
}

// plan makes the plan that a form requests.
func (s *site) plan(r *http.Request, target *targetView) (*shownPlan, error) {
	shown := &shownPlan{Target: target, job: &job{class: "yellow", wake: func() { s.feeds.wake(target.Path) }}}
	c, ctx := s.Connection.With(shown.job), r.Context()
	requested := r.FormValue("operation")
	var plan *operation.Plan
	var err error
	switch requested {
	case "correct":
		shown.Title, shown.Confirm = "Correct the drift of "+target.String(), "Correct the drift"
		plan, err = operation.PlanCurrent(ctx, c, target.Namespace, target.Name, true)
	case "rollback":
		number, _ := strconv.ParseInt(r.FormValue("revision"), 10, 64)
		shown.Title, shown.Confirm = fmt.Sprintf("Roll %s back to revision %d", target.Target, number), "Roll back"
		plan, err = operation.PlanRollback(ctx, c, operation.RollbackRequest{Namespace: target.Namespace, Name: target.Name, Number: number}, true)
	case "saved":
		shown.Title, shown.Confirm = "Apply a saved plan to "+target.String(), "Apply"
		var content []byte
		uploaded, header, missing := r.FormFile("plan")
		if err = missing; err == nil {
			content, err = io.ReadAll(uploaded)
			err = errors.Join(err, uploaded.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("reading the plan: %w", err)
		}
		plan, err = operation.Load(ctx, c, content, header.Filename, target.Namespace, target.Name, "")
	case "delete":
		shown.Title, shown.Confirm, shown.NameRequired = "Delete "+target.String(), "Delete", true
		return shown, s.planDeletion(ctx, shown)
	default:
		return nil, releases.Refused("operation: %q is not known; must be one of correct, rollback, saved, delete", requested)
	}
	if err != nil {
		return nil, err
	}
	shown.close, shown.apply = plan.Close, func(ctx context.Context) error {
		options := s.Changes
		options.Exact = true
		return plan.Apply(ctx, options)
	}
	var text bytes.Buffer
	if requested == "correct" {
		shown.refuse(plan.Unapproved())
		err = plan.WriteDrift(&text, plan.Drift(), true, display.DiffOptions{Style: style})
	} else {
		shown.refuse(plan.Refused())
		err = plan.Write(&text, true, display.DiffOptions{Style: style})
	}
	shown.Text = ansiToHTML(text.String())
	return shown, err
}

// refuse sets why the plan cannot be applied.
func (p *shownPlan) refuse(err error) {
	if err != nil {
		p.Refusal = err.Error()
	}
}

// planDeletion plans to delete a release.
func (s *site) planDeletion(ctx context.Context, shown *shownPlan) error {
	request := operation.DeletionRequest{Namespace: shown.Target.Namespace, Name: shown.Target.Name}
	d, err := operation.PlanDeletion(ctx, s.Connection.With(shown.job), request)
	if err != nil {
		return err
	}
	if err := d.FindNeededBy(ctx); err != nil {
		d.Close()
		return err
	}
	var text bytes.Buffer
	if err := d.FindKept(ctx); err != nil {
		fmt.Fprintf(&text, "note: it is not known which namespaces will be kept: %s\n", display.Clean(err.Error()))
	}
	d.Write(&text)
	shown.Text = ansiToHTML(text.String())
	shown.refuse(d.Blocked())
	shown.close, shown.apply = d.Close, func(ctx context.Context) error {
		// Others may depend on it since the plan was made.
		if err := d.FindNeededBy(ctx); err != nil {
			return err
		}
		return d.Delete(ctx, s.Changes.Limits)
	}
	return nil
}

// showPlan shows a plan.
func (s *site) showPlan(w http.ResponseWriter, r *http.Request) {
	plan := s.plans.find(r.PathValue("id"))
	if plan == nil {
		s.fail(w, http.StatusNotFound, fmt.Errorf("plan not found: it was already applied, it expired after %s, or newer plans replaced it", duration.HumanDuration(planLifetime)))
		return
	}
	content, err := rendered("plan", struct {
		*shownPlan
		Root string
	}{plan, s.Root})
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.write(w, http.StatusOK, page{site: s, Title: plan.Title, Target: plan.Target, Content: content})
}

// applyPlan applies a plan exactly as it was shown, and shows its target.
func (s *site) applyPlan(w http.ResponseWriter, r *http.Request) {
	plan := s.plans.find(r.PathValue("id"))
	var err error
	switch {
	case plan == nil:
	case plan.Refusal != "":
		err = errors.New(plan.Refusal)
	case plan.NameRequired && r.FormValue("name") != plan.Target.Name:
		err = fmt.Errorf("not confirmed: you entered %q; to confirm, enter %q; nothing was changed", r.FormValue("name"), plan.Target.Name)
	default:
		if plan = s.plans.take(plan.ID); plan != nil {
			err = s.jobs.start(plan)
		}
	}
	switch {
	case err != nil:
		s.fail(w, http.StatusConflict, err)
	case plan == nil:
		s.showPlan(w, r)
	default:
		http.Redirect(w, r, plan.Target.Path+"/tree", http.StatusSeeOther)
	}
}
