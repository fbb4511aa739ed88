// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package apiserver interprets the answers of an API server, makes patches that it refuses if the object has changed,
// and recognizes the types that are built into it.
package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/texts"
)

// maxReason is the maximum length of a shown text of an API server, in bytes.
const maxReason = 300

// IsBuiltIn reports whether the types of a group belong to Kubernetes itself, and have no definitions.
func IsBuiltIn(group string) bool {
	return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" || scheme.Scheme.IsGroupRegistered(group)
}

// IsOutdated reports whether a write was refused because the object has changed since it was read.
func IsOutdated(err error) bool { return apierrors.IsConflict(err) && !IsDenied(err) }

// IsDenied reports whether an admission webhook has refused a write with the status code of a conflict.
func IsDenied(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), "denied the request")
}

// admission are parts of the messages of API servers when admission control, not a missing permission, forbids a write.
var admission = []string{"exceeded quota", "violates PodSecurity"}

// IsAdmission reports whether admission control has denied a write: a webhook, a policy, or a quota. The writer has the
// permission. A webhook may answer with any code; codes from 500 on count as its failure. A ValidatingAdmissionPolicy
// answers 422 (Invalid) by default.
func IsAdmission(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError {
		return false
	}
	return denial.MatchString(err.Error()) ||
		apierrors.IsForbidden(err) && slices.ContainsFunc(admission, func(part string) bool { return strings.Contains(err.Error(), part) })
}

// IsRejected reports whether the server has rejected the content of a request, and would do so again: it is invalid, or
// a webhook or a ValidatingAdmissionPolicy has denied it. For joined errors, one of them suffices.
func IsRejected(err error) bool {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		return slices.ContainsFunc(joined.Unwrap(), IsRejected)
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return IsRejected(wrapped)
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && (apierrors.IsInvalid(err) || denial.MatchString(status.Status().Message))
}

// denial matches the API server's message if a webhook or a ValidatingAdmissionPolicy has denied a request.
var denial = regexp.MustCompile(`denied (the )?request`)

// Reason returns the API server's message, bounded in length; for any other error, its text.
func Reason(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		text = cmp.Or(status.Status().Message, text)
	}
	return texts.Truncate(text, maxReason)
}

// MergePatch returns a JSON merge patch with the content. The API server refuses it with a conflict unless the object
// still has the UID and the resource version.
func MergePatch(uid apitypes.UID, resourceVersion string, content map[string]any) (client.Patch, error) {
	given, _ := content["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, given)
	metadata["uid"], metadata["resourceVersion"] = uid, resourceVersion
	content = maps.Clone(content)
	content["metadata"] = metadata
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return client.RawPatch(apitypes.MergePatchType, body), nil
}

// Older reports whether one resource version is older than another one. Versions that cannot be compared, such as an
// empty one, count as not older.
func Older(version, than string) bool {
	result, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && result < 0
}

// Change is a change of objects.
type Change struct {
	// Objects are all existing ones, or the one that was created, changed or deleted.
	Objects []runtime.Object
	// All means that Objects are all existing ones.
	All bool
	// Deleted means that the object was deleted.
	Deleted bool
	// Trouble is why the server cannot be reached. The watch tries again; if it succeeds, there is a Change with neither
	// objects nor trouble.
	Trouble error
}

// Watch calls tell with all objects, and then with each change, until the context ends, which is no error. An error of
// tell ends the watch, and so does an answer that the resource does not exist or cannot be watched. If changes were
// missed, tell gets all objects again. Calls of tell do not overlap.
func Watch(ctx context.Context, source *cache.ListWatch, tell func(Change) error) error {
	// Logged errors are also returned.
	ctx = klog.NewContext(ctx, logr.Discard())
	for {
		err := listAndWatch(ctx, source, tell)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			return err
		}
	}
}

// minWatch is the shortest duration of a watch. One that ends sooner indicates a lost connection: API servers end watches
// after minutes.
const minWatch = 2 * time.Second

func listAndWatch(ctx context.Context, source *cache.ListWatch, tell func(Change) error) error {
	list, err := source.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing what to watch: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	if err := tell(Change{Objects: objects, All: true}); err != nil {
		return err
	}
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	var mu sync.Mutex
	tellAlone := func(change Change) error {
		mu.Lock()
		defer mu.Unlock()
		return tell(change)
	}
	_, err = watchtools.Until(watching, accessor.GetResourceVersion(), attempts(source, tellAlone, end), func(event watch.Event) (bool, error) {
		switch event.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			return false, tellAlone(Change{Objects: []runtime.Object{event.Object}, Deleted: event.Type == watch.Deleted})
		case watch.Error:
			return false, fmt.Errorf("watching: %w", apierrors.FromObject(event.Object))
		case watch.Bookmark:
		}
		return false, nil
	})
	if ended := context.Cause(watching); ended != nil && ctx.Err() == nil {
		return fmt.Errorf("watching: %w", ended)
	}
	return err
}

// attempts returns a source that tells when the server cannot be reached, and when it can be again. It calls end if the
// objects cannot be watched: Until repeats a request after any answer but a denial.
func attempts(source *cache.ListWatch, tell func(Change) error, end func(cause error)) *cache.ListWatch {
	var begun time.Time
	var trouble error
	return &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		before, wasTroubled := begun, trouble != nil
		begun = time.Now()
		started, err := source.WatchWithContext(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			end(err)
			return nil, err
		}
		if trouble = err; err == nil && begun.Sub(before) < minWatch && !wasTroubled {
			// If a connection is lost at once, client-go returns a watch that ends at once.
			trouble = errors.New("the server ends watches at once")
		}
		if ctx.Err() == nil && (trouble != nil || wasTroubled) {
			if failure := tell(Change{Trouble: trouble}); failure != nil {
				return nil, failure
			}
		}
		return started, err
	}}
}

// ListResource is a resource of a dynamic or metadata client, possibly limited to one namespace.
type ListResource[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListSelection selects objects. The zero value selects all.
type ListSelection struct {
	// Labels and Fields are selectors; an empty one selects all.
	Labels, Fields string
}

// ListWatch returns the functions that list and watch the selected objects of a resource.
func ListWatch[L runtime.Object](resource ListResource[L], selection ListSelection) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = selection.Labels, selection.Fields
			return resource.Watch(ctx, options)
		},
	}
}
