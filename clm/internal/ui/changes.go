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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
)

// plans keeps the plans that users look at.
type plans struct {
	mu   sync.Mutex
	kept map[string]*kept
}

// kept is a plan that was shown. It can be carried out once.
type kept struct {
	ID, Title, Confirm string
	Target             *targetView
	Text               template.HTML
	// Refusal is why it cannot be carried out; empty if it can.
	Refusal string
	// Names means that the user has to enter the name of the release.
	Names bool

	operator *job
	run      func(ctx context.Context) error
	close    func()
	made     time.Time
	expiry   *time.Timer
}

const (
	// planLifetime is how long a plan is kept: it watches the dependents, and the cluster goes on.
	planLifetime = 15 * time.Minute
	// maxPlans is how many plans are kept.
	maxPlans = 16
)

// keep keeps a plan, instead of the oldest one if there are too many.
func (p *plans) keep(k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[string]*kept{}
	}
	if len(p.kept) >= maxPlans {
		oldest := slices.MinFunc(slices.Collect(maps.Values(p.kept)), func(a, b *kept) int { return a.made.Compare(b.made) })
		oldest.expiry.Stop()
		oldest.close()
		delete(p.kept, oldest.ID)
	}
	k.ID, k.made = rand.Text(), time.Now()
	p.kept[k.ID] = k
	k.expiry = time.AfterFunc(planLifetime, func() {
		if expired := p.take(k.ID); expired != nil {
			expired.close()
		}
	})
}

// find returns a plan, nil if there is none.
func (p *plans) find(id string) *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept[id]
}

// take returns a plan, and forgets it. The caller closes it.
func (p *plans) take(id string) *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.kept[id]
	if taken != nil {
		taken.expiry.Stop()
		delete(p.kept, id)
	}
	return taken
}

func (p *plans) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		k.expiry.Stop()
		k.close()
	}
	p.kept = nil
}

// job is an operation that was begun here. It is the printer of the operation.
type job struct {
	wake func()

	mu      sync.Mutex
	state   display.Progress
	outcome *display.Outcome
	ended   time.Time
}

// Update implements display.Printer.
func (j *job) Update(state display.Progress) {
	j.mu.Lock()
	j.state = display.Progress{Operation: state.Operation, Phase: state.Phase, Message: state.Message}
	j.mu.Unlock()
	j.wake()
}

// Finish implements display.Printer.
func (j *job) Finish(outcome display.Outcome) {
	j.mu.Lock()
	j.outcome, j.ended = &outcome, time.Now()
	j.mu.Unlock()
	j.wake()
}

// end is called when the operation has returned.
func (j *job) end(err error) {
	j.mu.Lock()
	if err != nil && j.outcome == nil {
		j.outcome, j.ended = &display.Outcome{Summary: err.Error()}, time.Now()
	}
	j.mu.Unlock()
	j.wake()
}

// Texts returns what the operation is doing, or how it has ended.
func (j *job) Texts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome == nil {
		return []string{j.state.Operation + ": " + j.state.Phase, j.state.Message}
	}
	return append([]string{j.outcome.Summary, j.outcome.Next}, j.outcome.Notes...)
}

// Class returns the color of the texts.
func (j *job) Class() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.outcome == nil:
		return "yellow"
	case j.outcome.Done:
		return "green"
	default:
		return "red"
	}
}

func (j *job) isOver() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outcome != nil
}

// jobs are the last operations on targets that were begun here.
type jobs struct {
	ctx     context.Context
	running sync.WaitGroup

	mu      sync.Mutex
	current map[string]*job
}

// outcomeLifetime is how long a page shows how an operation has ended: others may change the release afterwards.
const outcomeLifetime = time.Minute

// of returns the last operation on a target; nil if there is none, or if it ended a while ago.
func (j *jobs) of(path string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	current := j.current[path]
	if current != nil && current.isOver() && time.Since(current.ended) > outcomeLifetime {
		delete(j.current, path)
		return nil
	}
	return current
}

// reserve makes a job the one of a target, unless another one is running.
func (j *jobs) reserve(path string, next *job) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if current := j.current[path]; current != nil && !current.isOver() {
		return errors.New("an operation on this release that was begun here is still running")
	}
	j.current[path] = next
	return nil
}

// begin runs an operation. It ends with the server, as a command that is interrupted.
func (j *jobs) begin(next *job, k *kept) {
	j.running.Go(func() {
		defer k.close()
		next.end(k.run(j.ctx))
	})
}

// makePlan makes a plan, and shows it.
func (s *site) makePlan(w http.ResponseWriter, r *http.Request) {
	target, err := s.target(r)
	if err == nil && target.Mapping != nil {
		err = releases.Refused("%s: its operator changes it; clm changes only releases", target.Target)
	}
	var planned *kept
	if err == nil {
		err = r.ParseMultipartForm(maxBody)
	}
	if err == nil || errors.Is(err, http.ErrNotMultipart) {
		planned, err = s.plan(r, target)
	}
	if err != nil {
		s.fail(w, codeOf(err), err)
		return
	}
	s.plans.keep(planned)
	http.Redirect(w, r, s.Root+"/plans/"+planned.ID, http.StatusSeeOther)
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
func (s *site) plan(r *http.Request, target *targetView) (*kept, error) {
	k := &kept{Target: target}
	operator := &job{wake: func() { s.feeds.wake(target.Path) }}
	c := s.Connection.With(operator)
	var plan *operation.Plan
	var err error
	switch requested := r.FormValue("operation"); requested {
	case "correct":
		k.Title, k.Confirm = "Correct the drift of "+target.String(), "Correct the drift"
		plan, err = operation.PlanCurrent(r.Context(), c, target.Namespace, target.Name, true)
	case "rollback":
		number, _ := strconv.ParseInt(r.FormValue("revision"), 10, 64)
		k.Title, k.Confirm = fmt.Sprintf("Roll %s back to revision %d", target.Target, number), "Roll back"
		plan, err = operation.PlanRollback(r.Context(), c, operation.RollbackRequest{Namespace: target.Namespace, Name: target.Name, Number: number}, true)
	case "saved":
		k.Title, k.Confirm = "Apply a saved plan to "+target.String(), "Apply"
		plan, err = loadPlan(r, func(path string) (*operation.Plan, error) {
			return operation.Load(r.Context(), c, path, target.Namespace, target.Name, "")
		})
	case "delete":
		k.Title, k.Confirm, k.Names = "Delete "+target.String(), "Delete", true
		return k, s.planDeletion(r.Context(), k, operator)
	default:
		return nil, releases.Refused("operation: %q is not known; must be one of correct, rollback, saved, delete", requested)
	}
	if err != nil {
		return nil, err
	}
	k.close = plan.Close
	k.run = func(ctx context.Context) error {
		options := s.Changes
		options.Exact = true
		return plan.Apply(ctx, options)
	}
	refusal := plan.Refused()
	var text bytes.Buffer
	if r.FormValue("operation") == "correct" {
		refusal = plan.Unapproved()
		err = plan.WriteDrift(&text, plan.Drift(), true, display.DiffOptions{Style: style})
	} else {
		err = plan.Write(&text, true, display.DiffOptions{Style: style})
	}
	k.show(text.String(), refusal, operator)
	return k, err
}

// show sets what the user sees of the plan. A job can be found only when the plan is carried out.
func (k *kept) show(text string, refusal error, operator *job) {
	k.Text = painted(text)
	if refusal != nil {
		k.Refusal = refusal.Error()
	}
	k.operator = operator
}

// planDeletion plans to delete a release.
func (s *site) planDeletion(ctx context.Context, k *kept, operator *job) error {
	d, err := operation.PlanDeletion(ctx, s.Connection.With(operator), operation.DeletionRequest{Namespace: k.Target.Namespace, Name: k.Target.Name})
	if err != nil {
		return err
	}
	k.close, k.run = d.Close, func(ctx context.Context) error {
		// Others may need it since the plan was made.
		if err := d.FindNeededBy(ctx); err != nil {
			return err
		}
		return d.Delete(ctx, s.Changes.Limits)
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
	k.show(text.String(), d.Blocked(), operator)
	return nil
}

// loadPlan has a plan loaded that was uploaded.
func loadPlan(r *http.Request, load func(path string) (*operation.Plan, error)) (*operation.Plan, error) {
	uploaded, _, err := r.FormFile("plan")
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	defer uploaded.Close()
	folder, err := os.MkdirTemp("", "clm-plan-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	content, err := io.ReadAll(uploaded)
	if err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	path := filepath.Join(folder, "plan")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return nil, err
	}
	return load(path)
}

// showPlan shows a plan that is kept.
func (s *site) showPlan(w http.ResponseWriter, r *http.Request) {
	k := s.plans.find(r.PathValue("id"))
	if k == nil {
		s.fail(w, http.StatusNotFound, fmt.Errorf("the plan is not there any more: it was carried out, is older than %s, or others were made since", planLifetime))
		return
	}
	content, err := rendered("plan", struct {
		*kept
		Root string
	}{k, s.Root})
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err)
		return
	}
	s.write(w, http.StatusOK, page{site: s, Title: k.Title, Target: k.Target, Content: content})
}

// carryOut carries out a plan, exactly as it was shown, and shows its target.
func (s *site) carryOut(w http.ResponseWriter, r *http.Request) {
	k := s.plans.find(r.PathValue("id"))
	switch {
	case k == nil:
		s.showPlan(w, r)
		return
	case k.Refusal != "":
		s.fail(w, http.StatusConflict, errors.New(k.Refusal))
		return
	case k.Names && r.FormValue("name") != k.Target.Name:
		s.fail(w, http.StatusConflict, fmt.Errorf("not confirmed: the name is %q; must be %q; nothing was changed", r.FormValue("name"), k.Target.Name))
		return
	}
	if err := s.jobs.reserve(k.Target.Path, k.operator); err != nil {
		s.fail(w, http.StatusConflict, err)
		return
	}
	if s.plans.take(k.ID) == nil {
		k.operator.end(errors.New("the plan has been carried out"))
		s.showPlan(w, r)
		return
	}
	s.jobs.begin(k.operator, k)
	http.Redirect(w, r, k.Target.Path+"/tree", http.StatusSeeOther)
}
