// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Preview is a manager for programs that ask what an operator would do, beside the running operator of another version.
// It is set up like any other manager, but cannot be started. It sends no request that changes anything: a request
// other than a read, a dry run or a review of access fails before it is sent, also if a hook or a generator makes it.
type Preview struct {
	manager.Manager

	workers []*worker
}

// NewPreview returns a preview. The scheme must have the types of the components.
func NewPreview(config *rest.Config, scheme *runtime.Scheme) (*Preview, error) {
	config = rest.CopyConfig(config)
	config.Wrap(guarded)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// The operator may run in the same process, as in tests.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		// The cache of a manager that is not started has nothing.
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.Cache = nil
			return client.New(config, options)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("creating a preview: %w", err)
	}
	return &Preview{Manager: mgr}, nil
}

// Start fails.
func (p *Preview) Start(context.Context) error { return errors.New("a preview cannot be started") }

// Previewed is what an operator would do with a component.
type Previewed struct {
	// Kind, Namespace and Name identify the component.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// Plan contains the changes, compared with the API server; nil if Problem says why there is none, or if the
	// component would be left alone as it is.
	Plan *reconciler.Plan
	// Problem says why the changes cannot be planned: the component is refused, waits for something that is missing, or
	// the generator fails. Empty if they can.
	Problem string
	// Held says why the operator would not make the changes now, for example because the component is paused; empty if
	// it would.
	Held string
}

// PreviewOptions choose components. The zero value chooses all.
type PreviewOptions struct {
	// Namespace of the components. Defaults to all namespaces.
	Namespace string
	// Names of the components. Defaults to all names. It is an error if there is none with one of the names.
	Names []string
}

// previewPage is the number of components that are listed at a time, and in memory.
const previewPage = 100

// Components plans what the operators that were set up with the preview would do with the chosen components, one kind
// after the other, in the order of the API server: namespace and name. Hooks of the author do not run, except post-read
// hooks. An error ends the sequence; what concerns only one component is its Problem. Dry runs that the user may not
// make are no problem: see [reconciler.PlanOptions].
func (p *Preview) Components(ctx context.Context, options PreviewOptions) iter.Seq2[Previewed, error] {
	return func(yield func(Previewed, error) bool) {
		missing := slices.Clone(options.Names)
		// The components of a page are forgotten after the next one: watches on their dependents go on.
		forget := func() {}
		defer func() { forget() }()
		for _, w := range p.workers {
			for page, err := range w.pages(ctx, options.Namespace) {
				page = slices.DeleteFunc(page, func(component Component) bool {
					return len(options.Names) > 0 && !slices.Contains(options.Names, component.GetName())
				})
				previewed := make([]Previewed, len(page))
				all, ctx := errgroup.WithContext(ctx)
				all.SetLimit(w.options.MaxConcurrentReconciles)
				for i, component := range page {
					missing = slices.DeleteFunc(missing, func(name string) bool { return name == component.GetName() })
					all.Go(func() error {
						previewed[i] = w.preview(ctx, component)
						return ctx.Err()
					})
				}
				err := errors.Join(err, all.Wait())
				forget()
				forget = func() { w.forgetAll(page) }
				if err != nil {
					yield(Previewed{}, err)
					return
				}
				for _, each := range previewed {
					if !yield(each, nil) {
						return
					}
				}
			}
		}
		if len(missing) > 0 {
			yield(Previewed{}, fmt.Errorf("there is no component with the name %s", strings.Join(missing, ", ")))
		}
	}
}

// pages lists the components. It reads the next page while one is in use.
func (w *worker) pages(ctx context.Context, namespace string) iter.Seq2[[]Component, error] {
	type page struct {
		components []Component
		following  string
		err        error
	}
	read := func(next string) <-chan page {
		pages := make(chan page, 1)
		go func() {
			components, following, err := w.page(ctx, namespace, next)
			pages <- page{components, following, err}
		}()
		return pages
	}
	return func(yield func([]Component, error) bool) {
		for next := read(""); next != nil; {
			page := <-next
			next = nil
			if page.following != "" {
				next = read(page.following)
			}
			if !yield(page.components, page.err) {
				return
			}
		}
	}
}

func (w *worker) page(ctx context.Context, namespace, next string) (components []Component, following string, err error) {
	list, err := w.newList()
	if err != nil {
		return nil, "", err
	}
	if err := w.resource.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(previewPage), client.Continue(next)); err != nil {
		return nil, "", fmt.Errorf("listing %s: %w", w.resource.Kind.Kind, err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if component, ok := item.(Component); ok {
			components = append(components, component)
		}
		return nil
	})
	return components, list.GetContinue(), err
}

func (w *worker) forgetAll(components []Component) {
	for _, component := range components {
		w.forget(client.ObjectKeyFromObject(component))
	}
}

// preview plans the next pass of a component.
func (w *worker) preview(ctx context.Context, component Component) Previewed {
	key := client.ObjectKeyFromObject(component)
	found := Previewed{Kind: w.resource.Kind, Namespace: key.Namespace, Name: key.Name}
	p, err := w.newPass(ctx, component, nil)
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	if p.deleting {
		found.Held = "it is being deleted"
		return found
	}
	o := p.rescued(func() outcomes.Outcome { return p.foresee(ctx) })
	found.Plan = p.plan
	switch {
	case o.Kind == outcomes.Continue && p.settings.presence == PresencePaused:
		found.Held = "it is paused"
	case o.Kind == outcomes.Continue:
		found.Held, found.Problem = p.heldBack(ctx)
	case slices.Contains(settled, o.Kind):
		found.Held = o.Message
	default:
		found.Problem = o.Message
	}
	return found
}

// heldBack returns what a planned pass would wait for: dependencies, or the approval of deletions; and what is wrong with
// the dependencies. Both are empty if there is nothing.
func (p *pass) heldBack(ctx context.Context) (held, problem string) {
	unmet, err := p.unmet(ctx)
	switch {
	case err == nil && p.leftovers != "":
		return p.leftovers, ""
	case err != nil:
		return "", err.Error()
	case unmet.Kind == outcomes.Refused:
		return "", unmet.Message
	case unmet.Message != "":
		return unmet.Message, ""
	case p.plan.Held != nil:
		return approvalOf(p, "").message(p.plan.Held), ""
	default:
		return "", ""
	}
}

// foresee goes through the steps of a pass up to the plan of its changes, without writing.
func (p *pass) foresee(ctx context.Context) outcomes.Outcome {
	for _, next := range []step{
		p.acknowledge, p.recall, p.resolve, p.load, p.checkIdentity, p.inherit, p.track, p.afterRead, p.connect, p.checkPresence, p.planAll,
	} {
		if o := next(ctx); o.Kind != outcomes.Continue {
			return o
		}
	}
	return outcomes.Proceed
}

// planAll plans the changes of the dependents.
func (p *pass) planAll(ctx context.Context) outcomes.Outcome {
	switch {
	case p.destination.Moving():
		return outcomes.Outcome{Kind: outcomes.Paused, Message: p.destination.Move()}
	case p.settings.presence == PresenceSuspended, p.settings.presence == PresenceArchived:
		return outcomes.Outcome{Kind: outcomes.Suspended, Message: "it is " + strings.ToLower(string(p.settings.presence))}
	}
	// The status does not say that a generator takes long.
	p.memory.ungenerated = false
	judge, generated, err := p.want(ctx)
	if err != nil {
		return wanted(err)
	}
	if o := p.undeclared(func(object types.ObjectKey) bool {
		return slices.ContainsFunc(generated.Objects, func(declared client.Object) bool {
			id := types.IDOf(declared)
			return id.GroupKind == object.GetObjectKind().GroupVersionKind().GroupKind() && id.Name == object.GetName() &&
				(id.Namespace == object.GetNamespace() || id.Namespace == "")
		})
	}); o.Kind != outcomes.Continue {
		p.leftovers = o.Message
	}
	// Another identity has the same permissions as with the operator.
	id := p.identity()
	plan, err := p.planRequest(ctx, p.request(generated, judge), reconciler.PlanOptions{Compare: true, Unprivileged: id.User == "" && len(id.KubeConfig) == 0})
	if err != nil {
		return outcomes.Of(err)
	}
	p.plan = &plan
	return outcomes.Proceed
}

// guarded refuses requests that change something.
func guarded(next http.RoundTripper) http.RoundTripper { return readOnly{next} }

type readOnly struct{ next http.RoundTripper }

// RoundTrip sends a request that changes nothing.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	isReview := strings.HasPrefix(request.URL.Path, "/apis/authorization.k8s.io/") || strings.HasPrefix(request.URL.Path, "/apis/authentication.k8s.io/")
	isDryRun := slices.Equal(request.URL.Query()["dryRun"], []string{"All"})
	switch {
	case request.Method == http.MethodGet, request.Method == http.MethodHead, request.Method == http.MethodOptions, isDryRun, isReview:
		return r.next.RoundTrip(request)
	default:
		return nil, fmt.Errorf("%s %s was not sent, because a preview changes nothing", request.Method, request.URL.Path)
	}
}
