"""``jubango serve``: one page on this machine with rooms to play, analyse, watch and train.

How a room is added: a folder beside this file, say ``watch/``, whose ``room.py`` has one function,
``def room(site: Site) -> Room``; and a line in ``rooms.py`` that names it. The room says

- its address (``"watch"`` is served at ``/watch``) and the title that the navigation shows;
- its page: ``pages/watch.html``, a template that begins with ``{% extends "shell.html" %}`` and fills the block
  ``body``, and ``pages/watch.js``, a module of JavaScript, which imports ``post``, ``feed`` and ``announce`` from
  ``./shell.js``;
- its routes: Starlette's ``Route("/watch/...", answer)``. ``posted`` (``web/posts.py``) wraps what takes a POST of
  JSON, and turns a UserError into one line for the page; ``Feed`` (``web/events.py``) sends events to whoever looks;
- what is to be done when the server stops (``close``).

A room's modules are imported when the server starts: what takes time (JAX, pandas) is imported in its functions, which
``site.in_background`` runs in a thread. Who may ask is settled before a room hears of it (``web/guard.py``).
Files are read and written through ``site.folder`` alone, a :class:`jubango.sgf_games.library.folder.Folder`.
"""
