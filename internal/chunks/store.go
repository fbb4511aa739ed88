// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/texts"
)

// Options configure a Store.
type Options struct {
	// Client makes all writes. Required.
	Client client.Client
	// Reader reads from the server, not from a cache. Required.
	Reader client.Reader
	// Kind of the objects. Required.
	Kind Kind
	// Namespace of the objects. Required.
	Namespace string
	// Prefix of all names; different for each list in a namespace. Required.
	Prefix string
	// Labels of the objects; they select exactly the chunks of this list. Required.
	Labels map[string]string
	// Marks are further labels of new objects, which select nothing. Defaults to none.
	Marks map[string]string
	// Annotations of the objects. Defaults to none.
	Annotations map[string]string
	// ClaimKey is the key of an annotation that changes whenever a reference begins to name an existing chunk.
	// Required.
	ClaimKey string
	// Finalizer protects chunks from deletion by others, or together with their namespace. Required.
	Finalizer string
	// FieldOwner is the field manager of all writes. Required.
	FieldOwner string
}

// Store keeps the chunks of one list in one namespace. It has no state.
type Store struct {
	options Options
	// held reports whether a chunk has the finalizer.
	held func(name string) bool
}

// NewStore returns a store. It makes no request.
func NewStore(options Options) *Store {
	return &Store{options: options, held: func(string) bool { return true }}
}

// Holding returns a store of the same chunks in which only the chunks selected by held have the finalizer.
func (s *Store) Holding(held func(name string) bool) *Store {
	return &Store{options: s.options, held: held}
}

const (
	// maxRequests is the maximum number of concurrent requests.
	maxRequests = 8
	// maxAttempts is the maximum number of attempts while others change the same chunk.
	maxAttempts = 8
)

// Name returns the name of the chunk with a content.
func (s *Store) Name(content []byte) string {
	return s.options.Prefix + "-" + digest(content)
}

// digestIn returns the digest of the content that is part of a name.
func digestIn(name string) string {
	return name[strings.LastIndexByte(name, '-')+1:]
}

// isOurs reports whether the store gives such names. Without this check, a client that can write the reference could
// have any other object read and removed.
func (s *Store) isOurs(name string) bool {
	found := digestIn(name)
	_, err := hex.DecodeString(found)
	return err == nil && len(found) == digestLength && name == s.options.Prefix+"-"+found
}

// Found is the result of Read.
type Found struct {
	// Contents are the contents of the intact chunks, in the order of the names that were passed to Read.
	Contents [][]byte
	// Intact are the chunks that exist and have the content that belongs to their name.
	Intact Handles
	// Damage describes the problems with the other chunks, or the list; sorted. Long texts and long lists are
	// truncated.
	Damage []string
}

const (
	// maxDamage is the maximum number of chunks in the damage, maxText the maximum length of a text about one, in
	// bytes.
	maxDamage, maxText = 8, 600
)

func (f *Found) add(damage string) { f.Damage = append(f.Damage, texts.Truncate(damage, maxText)) }

// Read reads chunks by name. Missing and damaged chunks, and names that the store does not give, are part of the
// result. Any other failure is an error, and does not imply damage. Read stops at the limits of a list.
func (s *Store) Read(ctx context.Context, names []string) (Found, error) {
	found := Found{Intact: Handles{}}
	if len(names) > maxCount {
		found.add(fmt.Sprintf("there are %d chunks; must be at most %d", len(names), maxCount))
		return found, nil
	}
	contents := make([][]byte, len(names))
	var total atomic.Int64
	var mu sync.Mutex
	err := concurrent.Each(maxRequests, names, func(i int, name string) error {
		chunk, err := s.readOne(ctx, name, &total)
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.text(name), err)
		}
		mu.Lock()
		defer mu.Unlock()
		if chunk.damage != nil {
			found.add(s.text(name) + ": " + chunk.damage.Error())
			return nil
		}
		contents[i], found.Intact[name] = chunk.content, chunk.handle
		return nil
	})
	if err != nil {
		return Found{}, err
	}
	found.Contents = slices.DeleteFunc(contents, func(content []byte) bool { return content == nil })
	slices.Sort(found.Damage)
	if more := len(found.Damage) - maxDamage; more > 0 {
		found.Damage = append(found.Damage[:maxDamage:maxDamage], fmt.Sprintf("and %d more", more))
	}
	return found, nil
}

// chunk is the result of reading a chunk; damage is the problem with it, or nil.
type chunk struct {
	content []byte
	handle  Handle
	damage  error
}

// readOne reads a chunk, and adds the size of its content to the total.
func (s *Store) readOne(ctx context.Context, name string, total *atomic.Int64) (chunk, error) {
	tooMuch := fmt.Errorf("the chunks of the list have more than %d bytes", maxTotal)
	switch {
	case !s.isOurs(name):
		return chunk{damage: fmt.Errorf("it is not a chunk of this list; its name must be %s- and a digest", s.options.Prefix)}, nil
	case total.Load() > maxTotal:
		return chunk{damage: tooMuch}, nil
	}
	object := s.options.Kind.newObject("", "", nil)
	err := s.options.Reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return chunk{damage: errors.New("it does not exist")}, nil
	}
	if err != nil {
		return chunk{}, err
	}
	content, err := unpack(object, digestIn(name))
	if err == nil && total.Add(int64(len(content))) > maxTotal {
		err = tooMuch
	}
	if err != nil {
		return chunk{damage: err}, nil
	}
	return chunk{content: content, handle: s.handleOf(object)}, nil
}

// Written is the result of Write.
type Written struct {
	// Names of the chunks, in the order of the contents.
	Names []string
	// All are the chunks with these names.
	All Handles
	// Created are the chunks that did not exist before.
	Created Handles
}

// Write makes sure that there is a chunk for each content. It makes no requests for known chunks. The result is valid
// even if there is an error; it then has the chunks written so far. The error is ErrTooLarge if a content cannot be
// stored; then nothing was written.
func (s *Store) Write(ctx context.Context, contents [][]byte, known Handles) (Written, error) {
	written := Written{All: Handles{}, Created: Handles{}}
	missing := map[string][]byte{}
	for _, content := range contents {
		name := s.Name(content)
		written.Names = append(written.Names, name)
		if handle, ok := known[name]; ok && handle.Namespace == s.options.Namespace {
			written.All[name] = handle
			continue
		}
		packed, err := Pack(content)
		if err != nil {
			return written, err
		}
		missing[name] = packed
	}
	var mu sync.Mutex
	err := concurrent.Each(maxRequests, slices.Sorted(maps.Keys(missing)), func(_ int, name string) error {
		handle, created, err := s.ensure(ctx, name, missing[name])
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return err
		}
		written.All[name] = handle
		if created {
			written.Created[name] = handle
		}
		return nil
	})
	return written, err
}

// ensure creates a chunk, or claims the existing one.
func (s *Store) ensure(ctx context.Context, name string, packed []byte) (handle Handle, created bool, err error) {
	labels := map[string]string{}
	maps.Copy(labels, s.options.Marks)
	maps.Copy(labels, s.options.Labels)
	var last error
	for range maxAttempts {
		object := s.options.Kind.newObject(s.options.Namespace, name, packed)
		object.SetLabels(labels)
		object.SetAnnotations(s.options.Annotations)
		if s.held(name) {
			object.SetFinalizers([]string{s.options.Finalizer})
		}
		err := s.options.Client.Create(ctx, object, client.FieldOwner(s.options.FieldOwner))
		if err == nil {
			return s.handleOf(object), true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return Handle{}, false, fmt.Errorf("creating %s: %w", s.text(name), err)
		}
		handle, err := s.claim(ctx, name)
		if err == nil {
			return handle, false, nil
		}
		if !isOutdated(err) {
			return Handle{}, false, fmt.Errorf("claiming %s: %w", s.text(name), err)
		}
		last = err
	}
	return Handle{}, false, fmt.Errorf("creating %s: other clients modified it on every attempt: %s", s.text(name), apiserver.Reason(last))
}

// text names a chunk in messages.
func (s *Store) text(name string) string {
	return string(s.options.Kind) + " " + s.options.Namespace + "/" + texts.Truncate(name, maxText/2)
}

// isOutdated reports whether a chunk has changed since it was observed.
func isOutdated(err error) bool {
	return apiserver.IsOutdated(err) || apierrors.IsNotFound(err)
}

// listLimit is the number of objects in one page of a list.
const listLimit = 500

// claim updates an existing chunk, so that the guarded removal by a process that has observed it before fails. It
// removes a chunk that is damaged or being deleted, and reports that as an outdated state as well.
func (s *Store) claim(ctx context.Context, name string) (Handle, error) {
	object := s.options.Kind.newObject("", "", nil)
	if err := s.options.Reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: name}, object); err != nil {
		return Handle{}, err
	}
	for key, value := range s.options.Labels {
		if object.GetLabels()[key] != value {
			return Handle{}, fmt.Errorf("it already exists, and belongs to something else: label %s is %q; must be %q", key, object.GetLabels()[key], value)
		}
	}
	handle := s.handleOf(object)
	_, err := unpack(object, digestIn(name))
	if err != nil || object.GetDeletionTimestamp() != nil {
		if len(handle.foreign) > 0 {
			return Handle{}, fmt.Errorf("it cannot be replaced while it has finalizers of other clients: %s", strings.Join(handle.foreign, ", "))
		}
		if _, err := s.removeOne(ctx, name, handle); err != nil {
			return Handle{}, err
		}
		return Handle{}, apierrors.NewNotFound(corev1.Resource(strings.ToLower(string(s.options.Kind))), name)
	}
	return s.patch(ctx, name, handle, map[string]any{
		"finalizers":  s.finalizers(name, handle),
		"annotations": map[string]any{s.options.ClaimKey: handle.ResourceVersion},
	})
}

// finalizers returns the finalizers that a chunk should have.
func (s *Store) finalizers(name string, handle Handle) []string {
	if !s.held(name) {
		return handle.foreign
	}
	return append(slices.Clone(handle.foreign), s.options.Finalizer)
}

// Hold adds the finalizer to chunks that should have it, so that removals by other processes that have observed these
// chunks fail. It returns the changed chunks.
func (s *Store) Hold(ctx context.Context, handles Handles) (Handles, error) {
	return s.refinalize(ctx, handles, func(name string, handle Handle) bool { return s.held(name) && !handle.Held })
}

// LetGo removes the finalizer from chunks that should not have it, if they are in their observed state. It returns the
// changed chunks, even if there is an error.
func (s *Store) LetGo(ctx context.Context, handles Handles) (Handles, error) {
	return s.refinalize(ctx, handles, func(name string, handle Handle) bool { return !s.held(name) && handle.Held })
}

func (s *Store) refinalize(ctx context.Context, handles Handles, wanted func(name string, handle Handle) bool) (Handles, error) {
	changed := Handles{}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(handles)) {
		if wanted(name, handles[name]) {
			names = append(names, name)
		}
	}
	var mu sync.Mutex
	err := concurrent.Each(maxRequests, names, func(_ int, name string) error {
		handle, err := s.patch(ctx, name, handles[name], map[string]any{"finalizers": s.finalizers(name, handles[name])})
		if err != nil {
			return fmt.Errorf("changing the finalizers of %s: %w", s.text(name), err)
		}
		mu.Lock()
		defer mu.Unlock()
		changed[name] = handle
		return nil
	})
	return changed, err
}

// List returns all chunks, whether a reference names them or not.
func (s *Store) List(ctx context.Context) (Handles, error) {
	found := Handles{}
	kind := corev1.SchemeGroupVersion.WithKind(string(s.options.Kind))
	err := clients.EachListed(ctx, s.options.Reader, clients.MetadataOf(kind), listLimit, func(item *metav1.PartialObjectMetadata) {
		found[item.Name] = s.handleOf(item)
	}, client.InNamespace(s.options.Namespace), client.MatchingLabels(s.options.Labels))
	if err != nil {
		return nil, fmt.Errorf("listing %ss in namespace %s: %w", s.options.Kind, s.options.Namespace, err)
	}
	return found, nil
}

// Remove removes chunks in their observed state, and reports whether all of them are gone. A chunk that has changed
// since stays.
func (s *Store) Remove(ctx context.Context, handles Handles) (complete bool, err error) {
	names := slices.Sorted(maps.Keys(handles))
	removed := make([]bool, len(names))
	err = concurrent.Each(maxRequests, names, func(i int, name string) error {
		done, err := s.removeOne(ctx, name, handles[name])
		if err != nil && !isOutdated(err) {
			return fmt.Errorf("removing %s: %w", s.text(name), err)
		}
		removed[i] = done || apierrors.IsNotFound(err)
		return nil
	})
	return !slices.Contains(removed, false), err
}

// removeOne removes the finalizer before it deletes the chunk: until the chunk is being deleted, another process may
// claim it. It reports whether the chunk is gone.
func (s *Store) removeOne(ctx context.Context, name string, handle Handle) (bool, error) {
	released := handle
	if handle.Held {
		var err error
		if released, err = s.patch(ctx, name, handle, map[string]any{"finalizers": handle.foreign}); err != nil {
			return false, err
		}
	}
	object := s.options.Kind.newObject(handle.Namespace, name, nil)
	uid := apitypes.UID(released.UID)
	err := s.options.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &released.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return len(handle.foreign) == 0, nil
}

// patch changes the metadata of a chunk, guarded by its observed state.
func (s *Store) patch(ctx context.Context, name string, handle Handle, metadata map[string]any) (Handle, error) {
	patch, err := apiserver.MergePatch(apitypes.UID(handle.UID), handle.ResourceVersion, map[string]any{"metadata": metadata})
	if err != nil {
		return Handle{}, err
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: handle.Namespace, Name: name}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(string(s.options.Kind)))
	err = s.options.Client.Patch(ctx, object, patch, client.FieldOwner(s.options.FieldOwner))
	return s.handleOf(object), err
}
