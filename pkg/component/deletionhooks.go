// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// hookField is the field of the status that refers to deletion hooks.
const hookField = "deletionHooks"

// rememberedHooks are the deletion hooks as they are stored.
type rememberedHooks struct {
	// version is that of the generation that has brought them; empty if that is not known.
	version  string
	checksum string
	hooks    []deletionhooks.Hook
}

// recordHooks stores the deletion hooks beside the component, and has the status refer to them, before the first dependent is
// touched: when the component is deleted, what they were made of may be gone.
func (w *worker) recordHooks(ctx context.Context, s *scope, hooks []deletionhooks.Hook, version string) error {
	if len(hooks) == 0 && s.status.DeletionHooks == nil {
		return w.dropProof(ctx, s)
	}
	recorded := ""
	if s.status.DeletionHooks != nil {
		recorded = s.status.DeletionHooks.Checksum
	}
	if known := s.memory.hooks; len(hooks) > 0 && known != nil && version != "" && known.version == version && known.checksum == recorded {
		if err := w.proveHooks(ctx, s, recorded); err != nil {
			return err
		}
		return w.checkHooksKept(s, len(hooks))
	}
	contents, err := encodeHooks(hooks, s.digestKey.secret)
	if err != nil {
		return err
	}
	checksum := chunks.Checksum(contents)
	if checksum != recorded || len(hooks) == 0 {
		if err := w.replaceHooks(ctx, s, contents, len(hooks)); err != nil {
			return err
		}
	} else if err := w.proveHooks(ctx, s, checksum); err != nil {
		return err
	}
	s.memory.hooks = &rememberedHooks{version: version, checksum: checksum, hooks: hooks}
	return w.checkHooksKept(s, len(hooks))
}

// checkHooksKept looks whether the server has kept what the status says about deletion hooks.
func (w *worker) checkHooksKept(s *scope, count int) error {
	if count == 0 || s.status.DeletionHooks == nil || s.server[hookField] != nil {
		return nil
	}
	return &reconciler.RefusedError{Problems: []string{fmt.Sprintf(
		"%s: status.deletionHooks: deletion hooks (%d) cannot be recorded, because the CustomResourceDefinition of the component does not keep this field; please update it",
		w.text(s), count)}}
}

// hookChunkSize is how many bytes of manifests one Secret holds on average.
const hookChunkSize = 512 << 10

// saltedHook is how a deletion hook is stored. The salt keeps others from guessing what is in it: the status has the checksum of the
// stored hooks, and Secrets are named after it.
type saltedHook struct {
	deletionhooks.Hook `json:",inline"`
	Salt               string `json:"salt,omitempty"`
}

// encodeHooks returns the contents of Secrets. Without a key there is no salt.
func encodeHooks(hooks []deletionhooks.Hook, key []byte) ([][]byte, error) {
	if len(hooks) == 0 {
		return nil, nil
	}
	salt := ""
	if len(key) > 0 {
		salt = digest.Keyed(key, "deletion hooks")
	}
	items := make([]chunks.Item, len(hooks))
	for i, hook := range hooks {
		value, err := json.Marshal(saltedHook{Hook: hook, Salt: salt})
		if err != nil {
			return nil, fmt.Errorf("encoding the deletion hook %s: %w", texts.Name(hook.Object), err)
		}
		items[i] = chunks.Item{Key: hook.Hook + "/" + texts.Name(hook.Object), Value: value}
	}
	return chunks.Spread(items, 0, hookChunkSize), nil
}

// replaceHooks writes new Secrets, then what proves them, then the status, and removes then those to which the status does not refer any more. As long
// as there may be any, the status has the field by which others know of them: it comes before the first one and goes after the last.
func (w *worker) replaceHooks(ctx context.Context, s *scope, contents [][]byte, count int) error {
	namespace, err := w.hookNamespace(s)
	if count == 0 {
		namespace, err = s.status.DeletionHooks.Namespace, nil
	}
	if err != nil {
		return err
	}
	var stale placed
	previous := ""
	if recorded := s.status.DeletionHooks; recorded != nil {
		if stale, err = w.listHooks(ctx, s); err != nil {
			return fmt.Errorf("looking for deletion hooks: %w", err)
		}
		previous = recorded.PreviousNamespace
		if recorded.Namespace != namespace {
			previous = recorded.Namespace
		}
	} else if err := w.referToHooks(ctx, s, DeletionHooks{Namespace: namespace, Secrets: []string{}, Checksum: chunks.Checksum(nil)}); err != nil {
		return err
	}
	if err := w.checkHooksKept(s, count); err != nil {
		return err
	}
	store := w.recordStore(s, chunks.Secret, namespace)
	written, err := store.Write(ctx, contents, nil)
	if err != nil {
		return fmt.Errorf("recording deletion hooks: %w", err)
	}
	names := append([]string{}, written.Names...)
	next := DeletionHooks{Namespace: namespace, PreviousNamespace: previous, Secrets: names, Checksum: chunks.Checksum(contents), Objects: count}
	if err := w.referToHooks(ctx, s, next); err != nil {
		return err
	}
	stale.drop(namespace, names)
	complete, err := w.removePlaced(ctx, s, chunks.Secret, stale)
	switch {
	case err != nil || !complete:
		s.log.Info("outdated deletion hooks are left for later", "error", err)
	case count == 0:
		s.status.DeletionHooks = nil
	default:
		s.status.DeletionHooks.PreviousNamespace = ""
	}
	return nil
}

// referToHooks has the status say where deletion hooks are, after the component has confirmed them.
func (w *worker) referToHooks(ctx context.Context, s *scope, next DeletionHooks) error {
	if next.Objects > 0 {
		if err := w.proveHooks(ctx, s, next.Checksum); err != nil {
			return err
		}
	}
	previous := s.status.DeletionHooks
	s.status.DeletionHooks = &next
	if err := w.save(ctx, s); err != nil {
		s.status.DeletionHooks = previous
		return err
	}
	if next.Objects > 0 {
		return nil
	}
	return w.dropProof(ctx, s)
}

func (w *worker) hookNamespace(s *scope) (string, error) {
	if s.key.Namespace == "" && w.options.StateNamespace == "" {
		return "", &reconciler.RefusedError{Problems: []string{
			w.text(s) + ": deletion hooks of cluster-scoped components need a place; the operator has to set the option StateNamespace",
		}}
	}
	if s.key.Namespace != "" {
		return s.key.Namespace, nil
	}
	return w.options.StateNamespace, nil
}

// storedHooks reads the deletion hooks. What is wrong with them is a text; it does not get better by itself.
func (w *worker) storedHooks(ctx context.Context, s *scope) (hooks []deletionhooks.Hook, damage string, err error) {
	reference := s.status.DeletionHooks
	if known := s.memory.hooks; known != nil && known.checksum == reference.Checksum {
		return known.hooks, "", nil
	}
	if damage := w.lacksProof(s); damage != "" {
		return nil, damage, nil
	}
	found, err := w.recordStore(s, chunks.Secret, reference.Namespace).Read(ctx, reference.Secrets)
	if err != nil {
		return nil, "", fmt.Errorf("reading deletion hooks: %w", err)
	}
	if len(found.Damage) > 0 {
		return nil, texts.Join(found.Damage, "; "), nil
	}
	if chunks.Checksum(found.Contents) != reference.Checksum {
		return nil, "they are not those of which status.deletionHooks has the checksum", nil
	}
	for _, content := range found.Contents {
		var part []deletionhooks.Hook
		if err := json.Unmarshal(content, &part); err != nil {
			return nil, "a list of objects cannot be decoded: " + err.Error(), nil
		}
		hooks = append(hooks, part...)
	}
	s.memory.hooks = &rememberedHooks{checksum: reference.Checksum, hooks: hooks}
	return hooks, "", nil
}
