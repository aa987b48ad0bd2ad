import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { typingMs } from '../../parts/forms/search-box.tsx';
import { PinIcon, SearchIcon } from '../../parts/layout/icons.tsx';
import { texts } from '../../texts/texts.ts';

export type Place = Schema<'Place'>;

const load = (q: string, address: boolean) => answerOf(api.GET('/v1/x/places', { params: { query: { q, address } } }));

/** The results of a search for places. */
export interface PlaceSearch {
  readonly words: string;
  /** Parking spots and geofences, then addresses. */
  readonly places: readonly Place[];
  readonly canSearchAddresses: boolean;
  /** The outcome of a search for addresses; undefined before it is requested. */
  readonly addresses: 'searching' | 'found' | 'none' | 'failed' | undefined;
  /** Searches addresses; only on request, because public geocoders forbid autocompletion. @returns the first result */
  searchAddresses(): Promise<Place | undefined>;
}

const nothing = { words: '', own: [], found: [], canSearchAddresses: false, addresses: undefined } as const;

interface State extends Pick<PlaceSearch, 'words' | 'canSearchAddresses' | 'addresses'> {
  readonly own: readonly Place[];
  readonly found: readonly Place[];
}

/** Searches parking spots and geofences once typing pauses, and addresses on request. @param words empty: no search */
export function usePlaceSearch(words: string): PlaceSearch {
  const state = useSignal<State>(nothing);
  useEffect(() => {
    state.value = { ...nothing, words };
    if (words === '') return undefined;
    const find = async () => {
      const answer = await load(words, false).catch(() => undefined);
      if (!answer || state.value.words !== words) return;
      state.value = { ...state.value, own: answer.places, canSearchAddresses: answer.source !== 'none' };
    };
    const timer = setTimeout(() => void find(), typingMs);
    return () => clearTimeout(timer);
  }, [words]);
  const searchAddresses = async () => {
    state.value = { ...state.value, addresses: 'searching' };
    const answer = await load(words, true).catch(() => undefined);
    if (state.value.words !== words) return undefined;
    const found = answer?.places ?? [];
    const outcome = found.length > 0 ? 'found' : answer ? 'none' : 'failed';
    state.value = { ...state.value, found, addresses: outcome };
    return found[0];
  };
  const { own, found, ...rest } = state.value;
  return { ...rest, places: [...own, ...found], searchAddresses };
}

function AddressSearch({ search, onGo }: { search: PlaceSearch; onGo: (place: Place) => void }) {
  const { map, loading } = texts.value;
  const { words, addresses, canSearchAddresses } = search;
  const outcomes = { searching: loading, found: '', none: map.noAddress, failed: map.addressFailed };
  if (addresses) return outcomes[addresses] === '' ? null : <p class="muted">{outcomes[addresses]}</p>;
  if (!canSearchAddresses) return null;
  const start = async () => {
    const first = await search.searchAddresses();
    if (first) onGo(first);
  };
  return (
    <button type="button" class="place-row" onClick={() => void start()}>
      <SearchIcon size={16} />
      <span>{map.searchAddresses(words)}</span>
    </button>
  );
}

/** The places that match a search, above the vehicles. */
export function PlaceList({ search, onGo }: { search: PlaceSearch; onGo: (place: Place) => void }) {
  const { map } = texts.value;
  const { words, places, addresses, canSearchAddresses } = search;
  if (words === '' || (places.length === 0 && !addresses && !canSearchAddresses)) return null;
  return (
    <div class="map-places" role="status">
      <ul aria-label={map.places}>
        {places.map((place) => (
          <li key={`${place.kind} ${place.name} ${place.latitude} ${place.longitude}`}>
            <button type="button" class="place-row" onClick={() => onGo(place)}>
              <PinIcon size={16} />
              <span>{place.name}</span>
              <small>{map.placeKinds[place.kind]}</small>
            </button>
          </li>
        ))}
      </ul>
      <AddressSearch search={search} onGo={onGo} />
    </div>
  );
}
